/// A fault of a message. Each has a stable code for logs and metrics.
public enum HTTPFault: UInt8, Error, Sendable, CaseIterable {
    // MARK: start line
    case requestLineInvalid, methodInvalid, methodTooLong, connectNotSupported, traceNotSupported
    case targetInvalid, targetTooLong, fragmentInTarget
    case versionInvalid, versionNotSupported
    case statusLineInvalid
    // MARK: lines and fields
    case bareCarriageReturn, bareLineFeed, obsoleteFold
    case fieldNameInvalid, fieldNameEmpty, spaceBeforeColon, fieldWithoutColon, fieldValueInvalid
    /// A name such as `Content_Length`, which some servers take for the field that frames a
    /// message.
    case fieldNameAmbiguous
    case fieldDuplicate
    case headTooLarge, tooManyFields
    // MARK: the meaning of fields
    case hostMissing, hostDuplicate, hostInvalid, hostMismatch
    case contentLengthInvalid, contentLengthDuplicate, contentLengthWithTransferEncoding
    case transferEncodingInvalid, transferEncodingDuplicate, transferEncodingNotAllowed
    case transferCodingUnknown
    case connectionInvalid, connectionNominatesEndToEnd
    case expectationUnknown
    /// A body is announced where there can be none: 1xx and 204.
    case bodyNotAllowed
    // MARK: chunked bodies
    case chunkSizeInvalid, chunkSizeTooLarge, chunkExtensionInvalid, chunkExtensionsTooLong
    case chunkEndInvalid
    case trailersTooLarge, trailerForbidden
    // MARK: paths
    case pathInvalid, percentEncodingInvalid, encodedControl, overlongEncoding
    case dotSegment, encodedDot, emptySegment, encodedSlash, backslash, pathParameters
    /// The target has allowed spellings whose readings lead to different routes.
    case pathAmbiguous
    case queryInvalid

    /// The status of the answer to a request with this fault.
    public var status: UInt16 {
        switch self {
        case .targetTooLong: 414
        case .headTooLarge, .tooManyFields, .trailersTooLarge: 431
        case .methodTooLong, .connectNotSupported, .traceNotSupported, .transferCodingUnknown: 501
        case .versionNotSupported: 505
        case .expectationUnknown: 417
        default: 400
        }
    }

    /// The code of the fault for logs and metrics: stable, in snake case.
    public var code: StaticString {
        switch self {
        case .requestLineInvalid: "request_line_invalid"
        case .methodInvalid: "method_invalid"
        case .methodTooLong: "method_too_long"
        case .connectNotSupported: "connect_not_supported"
        case .traceNotSupported: "trace_not_supported"
        case .targetInvalid: "target_invalid"
        case .targetTooLong: "target_too_long"
        case .fragmentInTarget: "fragment_in_target"
        case .versionInvalid: "version_invalid"
        case .versionNotSupported: "version_not_supported"
        case .statusLineInvalid: "status_line_invalid"
        default: fieldCode
        }
    }

    private var fieldCode: StaticString {
        switch self {
        case .bareCarriageReturn: "bare_carriage_return"
        case .bareLineFeed: "bare_line_feed"
        case .obsoleteFold: "obsolete_fold"
        case .fieldNameInvalid: "field_name_invalid"
        case .fieldNameEmpty: "field_name_empty"
        case .spaceBeforeColon: "space_before_colon"
        case .fieldWithoutColon: "field_without_colon"
        case .fieldValueInvalid: "field_value_invalid"
        case .fieldNameAmbiguous: "field_name_ambiguous"
        case .fieldDuplicate: "field_duplicate"
        case .headTooLarge: "head_too_large"
        case .tooManyFields: "too_many_fields"
        case .hostMissing: "host_missing"
        case .hostDuplicate: "host_duplicate"
        case .hostInvalid: "host_invalid"
        case .hostMismatch: "host_mismatch"
        case .contentLengthInvalid: "content_length_invalid"
        case .contentLengthDuplicate: "content_length_duplicate"
        case .contentLengthWithTransferEncoding: "content_length_with_transfer_encoding"
        case .transferEncodingInvalid: "transfer_encoding_invalid"
        case .transferEncodingDuplicate: "transfer_encoding_duplicate"
        case .transferEncodingNotAllowed: "transfer_encoding_not_allowed"
        case .transferCodingUnknown: "transfer_coding_unknown"
        case .connectionInvalid: "connection_invalid"
        case .connectionNominatesEndToEnd: "connection_nominates_end_to_end"
        case .expectationUnknown: "expectation_unknown"
        case .bodyNotAllowed: "body_not_allowed"
        default: bodyOrPathCode
        }
    }

    private var bodyOrPathCode: StaticString {
        switch self {
        case .chunkSizeInvalid: "chunk_size_invalid"
        case .chunkSizeTooLarge: "chunk_size_too_large"
        case .chunkExtensionInvalid: "chunk_extension_invalid"
        case .chunkExtensionsTooLong: "chunk_extensions_too_long"
        case .chunkEndInvalid: "chunk_end_invalid"
        case .trailersTooLarge: "trailers_too_large"
        case .trailerForbidden: "trailer_forbidden"
        case .pathInvalid: "path_invalid"
        case .percentEncodingInvalid: "percent_encoding_invalid"
        case .encodedControl: "encoded_control"
        case .overlongEncoding: "overlong_encoding"
        case .dotSegment: "dot_segment"
        case .encodedDot: "encoded_dot"
        case .emptySegment: "empty_segment"
        case .encodedSlash: "encoded_slash"
        case .backslash: "backslash"
        case .pathParameters: "path_parameters"
        case .pathAmbiguous: "path_ambiguous"
        case .queryInvalid: "query_invalid"
        default: "unknown"
        }
    }
}

/// The reason why a message is refused, and the status of the answer.
public struct HTTPRefusal: Error, Equatable, Sendable {
    /// The status: 400, 414, 417, 431, 501 or 505 for a request; 502 for an upstream's answer.
    public var status: UInt16
    public var reason: HTTPFault

    public init(status: UInt16, reason: HTTPFault) {
        self.status = status
        self.reason = reason
    }

    public init(request reason: HTTPFault) {
        self.init(status: reason.status, reason: reason)
    }

    public init(response reason: HTTPFault) { self.init(status: 502, reason: reason) }
}
