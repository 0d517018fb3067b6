/// The faults of messages by RFC 9110, 9112 and 9113.
enum MessageCauses {
    private typealias Row = CauseExplanation

    private static let bad: [Reason] = [.badRequest]
    private static let library =
        "See what the client or its proxy sends."
    private static let smuggling =
        "Nothing; if an app of yours sends this, correct it."
    private static let answersOnly =
        "See the upstream: this is about its answer."

    static let messages: [CauseExplanation] = [
        Row(
            bad,
            [
                "request_line_invalid", "method_invalid", "target_invalid", "version_invalid",
            ], .stranger,
            "The request line is malformed.",
            library),
        Row([.notImplemented], ["method_too_long"], .stranger, "The method is too long.", library),
        Row(
            [.notImplemented], ["connect_not_supported"], .stranger,
            "CONNECT asks for a forward proxy.", "Nothing: the gateway is none."),
        Row(
            [.notImplemented], ["trace_not_supported"], .stranger,
            "TRACE would show the secrets in a request's headers.",
            "Nothing."),
        Row(
            [.targetTooLong], ["target_too_long"], .clientApp,
            "Path and query are longer than limits.target.",
            "Shorten them, or raise limits.target."),
        Row(
            bad, ["fragment_in_target"], .clientApp, "The target has a fragment (#).", library),
        Row(
            [.versionNotSupported], ["version_not_supported"], .stranger,
            "Neither HTTP/1.1 nor HTTP/1.0 was spoken.", library),
        Row(bad, ["status_line_invalid"], .upstream, "A status line is malformed.", answersOnly),
        Row(
            bad,
            [
                "bare_carriage_return", "bare_line_feed", "obsolete_fold", "field_name_invalid",
                "field_name_empty", "space_before_colon", "field_without_colon",
            ], .stranger,
            "A line of the head has another form than HTTP demands.",
            smuggling),
        Row(
            bad, ["field_value_invalid"], .stranger,
            "A header's value has a character that none may have.",
            library),
        Row(
            bad, ["field_name_ambiguous"], .stranger,
            "Some servers take this header's name for one that frames or routes a message.",
            smuggling),
        Row(
            bad, ["field_duplicate"], .clientApp,
            "A header came twice that may come once.",
            library),
        Row(
            [.headTooLarge], ["head_too_large"], .clientApp,
            "The head is longer than limits.head.", "Send less, cookies above all, or raise it."),
        Row(
            [.headTooLarge], ["too_many_fields"], .clientApp,
            "The head has more headers than limits.fields.",
            "Send fewer, or raise it."),
        Row(bad, ["host_missing"], .clientApp, "The request has no Host.", library),
        Row(
            bad, ["host_duplicate", "host_mismatch"], .stranger,
            "Host came twice, or is not that of the target.",
            smuggling),
        Row(bad, ["host_invalid"], .stranger, "Host is malformed.", library),
        Row(
            bad,
            [
                "content_length_invalid", "content_length_duplicate",
                "content_length_with_transfer_encoding", "transfer_encoding_invalid",
                "transfer_encoding_duplicate", "transfer_encoding_not_allowed",
            ], .stranger,
            "Content-Length or Transfer-Encoding is malformed, repeated, contradicted or not "
                + "allowed.",
            smuggling),
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
            bad,
            [
                "chunk_size_invalid", "chunk_size_too_large", "chunk_end_invalid",
                "chunk_extension_invalid", "chunk_extensions_too_long",
            ], .stranger,
            "A chunk of the body, or its extensions, are malformed.",
            smuggling),
        Row(
            [.headTooLarge], ["trailers_too_large"], .clientApp, "The trailers are too long.",
            "Send less, or raise limits.head."),
        Row(
            bad, ["trailer_forbidden"], .stranger,
            "A trailer has the name of a header that frames, routes or proves a message.",
            smuggling),
    ]

    private static let spelling =
        "Send the plain spelling; see upstreams.NAME.paths."

    static let paths: [CauseExplanation] = [
        Row(
            bad, ["path_invalid", "query_invalid"], .stranger,
            "Path or query has a byte that none may have.",
            library),
        Row(
            bad, ["percent_encoding_invalid"], .clientApp,
            "A percent sign is not followed by two hexadecimal digits.", library),
        Row(
            bad, ["encoded_control", "overlong_encoding"], .stranger,
            "The path contains an encoded control character or an overlong encoding.",
            spelling),
        Row(
            bad,
            [
                "dot_segment", "encoded_dot", "encoded_slash", "backslash", "path_parameters",
            ], .stranger,
            "The path contains a dot segment, an encoded slash, a backslash or parameters (;).",
            spelling),
        Row(
            bad, ["empty_segment"], .clientApp, "The path contains an empty segment (//).", spelling
        ),
        Row(
            bad, ["path_ambiguous"], .stranger,
            "Servers may read the path as that of another route.", spelling),
    ]
}
