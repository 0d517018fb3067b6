import HTTP
import Settings

/// Where a proxy says which request it asks about. What is said elsewhere does not count.
struct CheckForm: Sendable {
    /// The headers with method, target and host; nil where the call itself has them.
    let method: FieldNameSet?
    let target: FieldNameSet?
    let host: FieldNameSet?
    /// The headers with what announced the body.
    let length: FieldNameSet?
    let coding: FieldNameSet?
    /// The header that says whether the call's body is only a part of the request's.
    let partial: FieldNameSet?
    /// All of these, none of which is the request's own.
    private let own: FieldNameSet

    private static let path = Array("/check".utf8)

    private init(
        method: String? = nil, target: String? = nil, host: String? = nil,
        length: String? = nil, coding: String? = nil, partial: String? = nil
    ) {
        func names(_ name: String?) -> FieldNameSet? {
            name.map { FieldNameSet(exact: [$0], prefixes: []) }
        }
        self.method = names(method)
        self.target = names(target)
        self.host = names(host)
        self.length = names(length)
        self.coding = names(coding)
        self.partial = names(partial)
        own = FieldNameSet(
            exact: [method, target, host, length, coding, partial].compactMap(\.self),
            prefixes: [])
    }

    /// Nil for dialects that ask in messages.
    static func of(_ dialect: CheckDialect) -> CheckForm? {
        switch dialect {
        case .nginx: nginx
        case .forward: forward
        case .envoy: envoy
        case .envoyGRPC, .json: nil
        }
    }

    private static let nginx = CheckForm(
        method: "x-original-method", target: "x-original-uri", host: "x-original-host",
        length: "x-original-content-length", coding: "x-original-transfer-encoding")
    private static let forward = CheckForm(
        method: "x-forwarded-method", target: "x-forwarded-uri", host: "x-forwarded-host",
        length: "x-forwarded-content-length", coding: "x-forwarded-transfer-encoding")
    private static let envoy = CheckForm(partial: "x-envoy-auth-partial-body")

    /// The part of the call's target that is the request's. Nil where the call is no question.
    func rest(of target: Span<UInt8>) -> Range<Int>? {
        // Envoy puts the path behind its prefix; the others call one place.
        if self.target != nil { return Self.isCall(target) ? Self.path.count..<target.count : nil }
        guard Self.isBelowPath(target), target.count > Self.path.count,
            target[Self.path.count] == UInt8(ascii: "/")
        else { return nil }
        return Self.path.count..<target.count
    }

    /// Whether `target` is the place where questions are asked.
    static func isCall(_ target: Span<UInt8>) -> Bool {
        isBelowPath(target)
            && (target.count == path.count || target[path.count] == UInt8(ascii: "?"))
    }

    private static func isBelowPath(_ target: Span<UInt8>) -> Bool {
        guard target.count >= path.count else { return false }
        for index in path.indices where target[index] != path[index] { return false }
        return true
    }

    /// Whether a field of the call is none of the request's: it is about the call's connection or
    /// framing, or says what is asked about.
    func leavesOut(_ field: FieldRange, in bytes: Span<UInt8>, showsBody: Bool) -> Bool {
        switch field.known {
        case .host, .connection, .expect, .keepAlive, .te, .trailer, .upgrade, .proxyConnection,
            .http2Settings:
            true
        case .contentLength, .transferEncoding: !showsBody
        default: own.contains(bytes.extracting(field.name))
        }
    }
}
