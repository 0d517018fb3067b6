/// What is wrong with a message, by RFC 9110, 9112 and 9113.
enum MessageCauses {
    private typealias Row = CauseExplanation

    private static let bad: [Reason] = [.badRequest]
    private static let library =
        "See what the client's HTTP library, or a proxy before the gateway, sends."
    private static let smuggling =
        "Nothing: apps do not send this, and servers would disagree about it. If an app of yours "
        + "does, correct it or the proxy before the gateway."
    private static let answersOnly =
        "Nothing: this is about answers. With upstream_failed it says what the upstream sends."

    static let messages: [CauseExplanation] = [
        Row(bad, ["request_line_invalid"], .stranger, "The request line is malformed.", library),
        Row(bad, ["method_invalid"], .stranger, "The method is not a token.", library),
        Row([.notImplemented], ["method_too_long"], .stranger, "The method is too long.", library),
        Row(
            [.notImplemented], ["connect_not_supported"], .stranger,
            "CONNECT asks for a forward proxy.", "Nothing: the gateway is none."),
        Row(
            [.notImplemented], ["trace_not_supported"], .stranger,
            "TRACE would show a request's headers, its secrets among them.", "Nothing."),
        Row(bad, ["target_invalid"], .stranger, "The request's target is malformed.", library),
        Row(
            [.targetTooLong], ["target_too_long"], .clientApp,
            "Path and query are longer than limits.target.",
            "Shorten them, or raise limits.target."),
        Row(
            bad, ["fragment_in_target"], .clientApp, "The target has a fragment (#).", library),
        Row(bad, ["version_invalid"], .stranger, "The HTTP version is malformed.", library),
        Row(
            [.versionNotSupported], ["version_not_supported"], .stranger,
            "Neither HTTP/1.1 nor HTTP/1.0 was spoken.", library),
        Row(bad, ["status_line_invalid"], .upstream, "A status line is malformed.", answersOnly),
        Row(
            bad, ["bare_carriage_return", "bare_line_feed"], .stranger,
            "A line ends with a carriage return or a line feed alone.", smuggling),
        Row(bad, ["obsolete_fold"], .stranger, "A header goes on in the next line.", smuggling),
        Row(
            bad, ["field_name_invalid", "field_name_empty"], .stranger,
            "The name of a header is empty or has a character that none may have.", smuggling),
        Row(
            bad, ["space_before_colon"], .stranger, "White space stands before a header's colon.",
            smuggling),
        Row(bad, ["field_without_colon"], .stranger, "A header has no colon.", smuggling),
        Row(
            bad, ["field_value_invalid"], .stranger,
            "The value of a header has a character that none may have.", library),
        Row(
            bad, ["field_name_ambiguous"], .stranger,
            "Some servers take this header's name for one that frames or routes a message.",
            smuggling),
        Row(
            bad, ["field_duplicate"], .clientApp, "A header came twice that may come once.",
            library),
        Row(
            [.headTooLarge], ["head_too_large"], .clientApp,
            "The head is longer than limits.head.", "Send less, cookies above all, or raise it."),
        Row(
            [.headTooLarge], ["too_many_fields"], .clientApp,
            "The head has more headers than limits.fields.", "Send fewer, or raise it."),
        Row(bad, ["host_missing"], .clientApp, "The request has no Host.", library),
        Row(bad, ["host_duplicate"], .stranger, "Host came twice.", smuggling),
        Row(bad, ["host_invalid"], .stranger, "Host is malformed.", library),
        Row(bad, ["host_mismatch"], .stranger, "Host and target name different hosts.", smuggling),
        Row(
            bad, ["content_length_invalid", "content_length_duplicate"], .stranger,
            "Content-Length is not one number.", smuggling),
        Row(
            bad, ["content_length_with_transfer_encoding"], .stranger,
            "Content-Length and Transfer-Encoding came together.", smuggling),
        Row(
            bad, ["transfer_encoding_invalid", "transfer_encoding_duplicate"], .stranger,
            "Transfer-Encoding is malformed, or came twice.", smuggling),
        Row(
            bad, ["transfer_encoding_not_allowed"], .stranger,
            "Transfer-Encoding came where none may be, as in HTTP/1.0.", smuggling),
        Row(
            [.notImplemented], ["transfer_coding_unknown"], .clientApp,
            "The gateway knows no transfer coding but chunked.", library),
        Row(bad, ["connection_invalid"], .stranger, "Connection is malformed.", library),
        Row(
            bad, ["connection_nominates_end_to_end"], .stranger,
            "Connection names a header that proxies must not remove.", smuggling),
        Row(
            [.expectationFailed], ["expectation_unknown"], .clientApp,
            "Expect is not 100-continue.", library),
        Row(
            bad, ["body_not_allowed"], .upstream, "A body was announced where none may be.",
            answersOnly),
        Row(
            bad, ["chunk_size_invalid", "chunk_size_too_large", "chunk_end_invalid"], .stranger,
            "A chunk of the body is malformed.", smuggling),
        Row(
            bad, ["chunk_extension_invalid", "chunk_extensions_too_long"], .stranger,
            "The extensions of chunks are malformed, or too long.", smuggling),
        Row(
            [.headTooLarge], ["trailers_too_large"], .clientApp, "The trailers are too long.",
            "Send less, or raise limits.head."),
        Row(
            bad, ["trailer_forbidden"], .stranger,
            "A trailer has the name of a header that frames, routes or proves a message.",
            smuggling),
    ]

    private static let spelling =
        "Let the client send the plain spelling. With a proof on the route, only one reading may "
        + "be possible: upstreams.NAME.paths says how the upstream reads paths."

    static let paths: [CauseExplanation] = [
        Row(bad, ["path_invalid"], .stranger, "The path has a byte that none may have.", library),
        Row(
            bad, ["percent_encoding_invalid"], .clientApp,
            "A percent sign is not followed by two hexadecimal digits.", library),
        Row(
            bad, ["encoded_control"], .stranger, "The path contains an encoded control character.",
            spelling),
        Row(
            bad, ["overlong_encoding"], .stranger,
            "The path contains a character in an overlong encoding.", spelling),
        Row(
            bad, ["dot_segment", "encoded_dot"], .stranger,
            "The path contains . or .. as a segment, plain or encoded.", spelling),
        Row(
            bad, ["empty_segment"], .clientApp, "The path contains an empty segment (//).", spelling
        ),
        Row(
            bad, ["encoded_slash", "backslash"], .stranger,
            "The path contains an encoded slash or a backslash.", spelling),
        Row(
            bad, ["path_parameters"], .stranger, "The path contains parameters (;).", spelling),
        Row(
            bad, ["path_ambiguous"], .stranger,
            "Servers may read the path as that of another route.", spelling),
        Row(bad, ["query_invalid"], .stranger, "The query has a byte that none may have.", library),
    ]
}
