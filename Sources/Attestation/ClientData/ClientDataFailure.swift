/// The reason why client data of the `header` shape cannot be compared with a request.
public enum ClientDataFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are not one bounded JSON object without duplicate members.
    case json(String)
    /// A member that must be there is missing.
    case memberMissing(String)
    /// A member is not a string, or not of the form it must have.
    case memberMalformed(String)

    /// The reason as one word for logs and metrics; a closed set.
    public var code: String {
        switch self {
        case .json: "client_data_not_json"
        case .memberMissing: "client_data_member_missing"
        case .memberMalformed: "client_data_member_malformed"
        }
    }

    public var description: String {
        switch self {
        case .json(let reason): reason
        case .memberMissing(let name): "member \(name) is missing"
        case .memberMalformed(let name): "member \(name) has another form"
        }
    }
}

/// The part of a request that differs from the client data that was signed for it.
public enum ClientDataMismatch: String, Error, Hashable, Sendable, CaseIterable {
    case method = "method_mismatch"
    case path = "path_mismatch"
    case query = "query_mismatch"
    case body = "body_mismatch"

    /// The reason as one word for logs and metrics.
    public var code: String { rawValue }
}
