import HTTP
import Judgement
import Settings

/// Where a proxy says which request it asks about. What is said elsewhere does not count.
struct CheckForm: Sendable {
    /// A header that says what is asked about, and what its proxy is told if it does not.
    struct Header: Sendable {
        let name: String
        let names: FieldNameSet
        private let missing: StaticString
        private let wrong: StaticString

        /// `missing`: the same as `wrong` where the header may be left out.
        fileprivate init(_ name: String, missing: StaticString? = nil, wrong: StaticString) {
            self.name = name
            names = FieldNameSet(exact: [name], prefixes: [])
            self.missing = missing ?? wrong
            self.wrong = wrong
        }

        var isMissing: Refusal { Refusal(.badRequest, .checkHeader, explanation: missing) }
        var isWrong: Refusal { Refusal(.badRequest, .checkHeader, explanation: wrong) }
    }

    /// The headers with method, target and host; nil where the call itself has them.
    let method: Header?
    let target: Header?
    let host: Header?
    /// The headers with what announced the body.
    let length: Header?
    let coding: Header?
    /// The header that says whether the call's body is only a part of the request's.
    let partial: Header?
    /// All of these, none of which is the request's own.
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
