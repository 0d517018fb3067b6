import Bytes
import Crypto
import JSON

/// A token for a developer's machine without App Attest, such as a simulator or a test in CI.
///
/// It proves nothing about an app or a device, only that the operator made it.
public struct DeveloperToken: Hashable, Sendable {
    /// The tier that the operator lets the token count for.
    public enum Worth: String, Sendable, CaseIterable {
        case token
        case none
    }

    /// `sub`: the person or program that it was made for.
    public var name: String
    /// `jti`: the id of this single token.
    public var id: String
    /// `iat`: seconds since 1970.
    public var issuedAt: Int64
    /// `exp`: seconds since 1970; from then on it is not accepted.
    public var expiresAt: Int64
    /// `aud`: names of routes; empty for all that accept such tokens.
    public var audience: [String]
    /// `tier`: the worth of the token.
    public var worth: Worth
    /// `app`: the app that it stands in for, if a route accepts only some apps.
    public var appID: String?

    public init(
        name: String, id: String, issuedAt: Int64, expiresAt: Int64, audience: [String],
        worth: Worth, appID: String? = nil
    ) {
        self.name = name
        self.id = id
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.audience = audience
        self.worth = worth
        self.appID = appID
    }

    /// A new ``id``: 16 hexadecimal digits.
    public static func makeID() -> String { Hex.encode(RandomBytes.bytes(8)) }
}

/// Makes developer tokens and recognises them again: ``TokenMAC``, with derived keys of its own.
public struct DeveloperTokenSealer: Sendable {
    private let tokens: TokenMAC

    /// The audience that stands for every route; no route has this name.
    private static let anyRoute = "*"
    private static let issuer: StaticString = "sallyport"

    /// `keys`: as for ``SessionTokenSealer``.
    public init?(keys: [[UInt8]]) {
        guard let tokens = TokenMAC(keys: keys, label: "sallyport developer token") else {
            return nil
        }
        self.tokens = tokens
    }

    /// True if a header may hold `text` as it is.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// The token as ASCII bytes.
    public func token(of developer: DeveloperToken) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iss", constant: Self.issuer)
        writer.member("sub", string: developer.name)
        writer.member("jti", string: developer.id)
        writer.beginArray("aud")
        let audience = developer.audience.isEmpty ? [Self.anyRoute] : developer.audience
        for name in audience { writer.element(string: name) }
        writer.endArray()
        writer.member("iat", int: developer.issuedAt)
        writer.member("exp", int: developer.expiresAt)
        writer.member("tier", string: developer.worth.rawValue)
        if let appID = developer.appID { writer.member("app", string: appID) }
        writer.endObject()
        let claims = writer.finish()
        return tokens.token(of: claims.readable)
    }

    /// True if `token` says that it is a developer token.
    public func claims(_ token: Span<UInt8>) -> Bool { tokens.claims(token) }

    /// The contents of `token` if it is authentic, is for the route `audience`, is valid at
    /// `seconds` since 1970, and lives for no more than `lifeMax` seconds. The result's audience is
    /// that route.
    ///
    /// This does not check if the token was revoked.
    public func open(
        _ token: Span<UInt8>, for audience: String, at seconds: Int64, lifeMax: Int64
    ) throws(SessionTokenFailure) -> DeveloperToken {
        let claims = try tokens.open(token, byteCountMax: SessionTokenSealer.tokenByteCountMax)
        guard let name = claims.text("sub"), Self.isPlain(name), let id = claims.text("jti"),
            Self.isPlain(id),
            let worth = claims.text("tier").flatMap(DeveloperToken.Worth.init(rawValue:))
        else { throw .malformed }
        guard let issuedAt = claims.integer("iat"), let expiresAt = claims.integer("exp") else {
            throw .malformed
        }
        let life = TokenLife(issuedAt: issuedAt, expiresAt: expiresAt)
        try life.check(at: seconds)
        // The setting may have become shorter since the token was made.
        guard life.expiresAt - life.issuedAt <= lifeMax else { throw .lifetime }
        let isForRoute =
            claims.contains(audience, inArray: "aud")
            || claims.contains(Self.anyRoute, inArray: "aud")
        guard isForRoute else { throw .audience }
        return DeveloperToken(
            name: name, id: id, issuedAt: life.issuedAt, expiresAt: life.expiresAt,
            audience: [audience], worth: worth, appID: claims.text("app"))
    }
}
