import Bytes
public import HTTP

/// The condition of a route on one header.
public struct HeaderCondition: Hashable, Sendable {
    public enum Test: Hashable, Sendable {
        /// The header is sent exactly once, with this value.
        case equals(String)
        /// The header is sent at least once.
        case present
        /// The header is not sent.
        case absent
    }

    /// The header's name in lower case.
    public var name: String
    public var test: Test

    public init(name: String, test: Test) {
        self.name = name
        self.test = test
    }

    /// True if no request can meet both conditions.
    func excludes(_ other: HeaderCondition) -> Bool {
        guard name == other.name, test != other.test else { return false }
        return switch (test, other.test) {
        case (.equals, .equals), (.absent, _), (_, .absent): true
        default: false
        }
    }
}

/// One header condition, ready to be checked against requests.
struct HeaderTest: Sendable {
    private let name: [UInt8]
    private let value: [UInt8]
    private let test: HeaderCondition.Test
    /// True if the header says who sent the request or for whom. Only some peers are trusted with
    /// that.
    private let isForwarding: Bool

    init(_ condition: HeaderCondition) {
        name = Array(condition.name.utf8)
        test = condition.test
        if case .equals(let text) = condition.test { value = Array(text.utf8) } else { value = [] }
        let nameBytes = Array(condition.name.utf8)
        isForwarding = KnownField(name: nameBytes.span).isForwarding
    }

    /// - Parameter trustsForwarding: true if the peer is trusted with the client's address;
    ///   otherwise its headers about the client count as absent, as they do not reach the upstream
    ///   either.
    func holds(_ fields: [FieldRange], _ bytes: Span<UInt8>, trustsForwarding: Bool) -> Bool {
        var count = 0
        var isEqual = false
        if trustsForwarding || !isForwarding {
            for field in fields
            where ASCII.equalsIgnoringCase(bytes.extracting(field.name), lowercase: name) {
                count += 1
                isEqual = ASCII.equals(bytes.extracting(field.value), value)
            }
        }
        return switch test {
        case .equals: count == 1 && isEqual
        case .present: count > 0
        case .absent: count == 0
        }
    }
}

extension KnownField {
    /// True for a header that tells the upstream about the client and the proxies before this one.
    public var isForwarding: Bool {
        switch self {
        case .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xForwardedPort,
            .xForwardedPrefix, .xForwardedServer, .xForwardedSsl, .xForwardedScheme, .xRequestID,
            .xRealIP:
            true
        default: false
        }
    }
}
