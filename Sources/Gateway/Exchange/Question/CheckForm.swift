import HTTP
import Judgement
import Settings

/// The places where a proxy describes the request that it asks about. Other places do not count.
struct CheckForm: Sendable {
    /// A header that describes a part of the request, and the refusals if it is missing or wrong.
    struct Header: Sendable {
        let name: String
        let names: FieldNameSet
        private let missing: StaticString
        private let wrong: StaticString

        /// `missing` is the same as `wrong` if the header may be left out.
        fileprivate init(_ name: String, missing: StaticString? = nil, wrong: StaticString) {
            self.name = name
            names = FieldNameSet(exact: [name], prefixes: [])
            self.missing = missing ?? wrong
            self.wrong = wrong
        }

        var isMissing: Refusal { Refusal(.badRequest, .checkHeader, explanation: missing) }
        var isWrong: Refusal { Refusal(.badRequest, .checkHeader, explanation: wrong) }
    }

    /// The headers with method, target and host; nil if the call's own are the request's.
    let method: Header?
    let target: Header?
    let host: Header?
    /// The headers with the request's body length and transfer coding.
    let length: Header?
    let coding: Header?
    /// The header that says whether the call has only a part of the request's body.
    let partial: Header?
    /// All of these headers. None belongs to the request.
    private let own: FieldNameSet

    private static let path = Array("/check".utf8)

    private init(
        method: Header? = nil, target: Header? = nil, host: Header? = nil,
        length: Header? = nil, coding: Header? = nil, partial: Header? = nil
    ) {
        self.method = method
        self.target = target
        self.host = host
        self.length = length
        self.coding = coding
        self.partial = partial
        own = FieldNameSet(
            exact: [method, target, host, length, coding, partial].compactMap { $0?.name },
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
        method: Header(
            "x-original-method", missing: "X-Original-Method is missing (dialect nginx).",
            wrong: "X-Original-Method is repeated or empty (dialect nginx)."),
        target: Header(
            "x-original-uri", missing: "X-Original-URI is missing (dialect nginx).",
            wrong: "X-Original-URI is repeated or empty (dialect nginx)."),
        host: Header(
            "x-original-host", wrong: "X-Original-Host is repeated or empty (dialect nginx)."),
        length: Header(
            "x-original-content-length",
            wrong: "X-Original-Content-Length is repeated or no number (dialect nginx)."),
        coding: Header(
            "x-original-transfer-encoding",
            wrong: "X-Original-Transfer-Encoding is repeated (dialect nginx)."))
    private static let forward = CheckForm(
        method: Header(
            "x-forwarded-method", missing: "X-Forwarded-Method is missing (dialect forward).",
            wrong: "X-Forwarded-Method is repeated or empty (dialect forward)."),
        target: Header(
            "x-forwarded-uri", missing: "X-Forwarded-Uri is missing (dialect forward).",
            wrong: "X-Forwarded-Uri is repeated or empty (dialect forward)."),
        host: Header(
            "x-forwarded-host", missing: "X-Forwarded-Host is missing (dialect forward).",
            wrong: "X-Forwarded-Host is repeated or empty (dialect forward)."),
        length: Header(
            "x-forwarded-content-length",
            wrong: "X-Forwarded-Content-Length is repeated or no number (dialect forward)."),
        coding: Header(
            "x-forwarded-transfer-encoding",
            wrong: "X-Forwarded-Transfer-Encoding is repeated (dialect forward)."))
    private static let envoy = CheckForm(
        partial: Header(
            "x-envoy-auth-partial-body",
            wrong: "X-Envoy-Auth-Partial-Body is repeated or wrong (dialect envoy)."))

    /// The part of the call's target that is the request's; nil if the call is not a question.
    func rest(of target: Span<UInt8>) -> Range<Int>? {
        // Envoy appends the path to its prefix. The other dialects call one path.
        if self.target != nil { return Self.isCall(target) ? Self.path.count..<target.count : nil }
        guard Self.isBelowPath(target), target.count > Self.path.count,
            target[Self.path.count] == UInt8(ascii: "/")
        else { return nil }
        return Self.path.count..<target.count
    }

    /// True if `target` is the path for questions.
    static func isCall(_ target: Span<UInt8>) -> Bool {
        isBelowPath(target)
            && (target.count == path.count || target[path.count] == UInt8(ascii: "?"))
    }

    private static func isBelowPath(_ target: Span<UInt8>) -> Bool {
        guard target.count >= path.count else { return false }
        for index in path.indices where target[index] != path[index] { return false }
        return true
    }

    /// True if a field of the call does not belong to the request: it is about the call's
    /// connection or framing, or describes the request.
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
