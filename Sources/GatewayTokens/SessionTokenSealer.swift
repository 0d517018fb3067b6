import Attestation
import Bytes
import JSON
import KeyStore

/// Issues session tokens and recognises them again: ``TokenMAC``.
public struct SessionTokenSealer: Sendable {
    private let tokens: TokenMAC

    /// The number of characters of the longest token that is accepted.
    public static let tokenByteCountMax = 4096
    /// The most names in an audience, of at most 64 bytes each, that fit into it.
    public static let audienceCountMax = 32
    private static let issuer: StaticString = "sallyport"

    /// `keys`: 32 bytes each; the first signs, and every one is recognised. Nil for none or another
    /// length. Keys of challenges may be given, because only derived keys are used.
    public init?(keys: [[UInt8]]) {
        guard let tokens = TokenMAC(keys: keys, label: "sallyport session token") else {
            return nil
        }
        self.tokens = tokens
    }

    /// The token as ASCII bytes.
    public func token(of session: SessionToken) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iss", constant: Self.issuer)
        writer.beginArray("aud")
        for name in session.audience { writer.element(string: name) }
        writer.endArray()
        writer.member("iat", int: session.issuedAt)
        writer.member("exp", int: session.expiresAt)
        writer.beginObject("cnf")
        writer.member("kid", string: Base64.encodeURL(session.keyID.digest.array))
        writer.endObject()
        writer.member("app", string: session.appID)
        writer.member("env", string: session.environment.rawValue)
        if session.platform != .apple { writer.member("plt", string: session.platform.text) }
        if let level = session.securityLevel { writer.member("lvl", string: level.rawValue) }
        if let installation = session.installation {
            writer.member("ins", string: installation.description)
        }
        if let version = session.bundleVersion { writer.member("ver", string: version) }
        if let category = session.validationCategory { writer.member("cat", int: Int64(category)) }
        if let binding = session.binding {
            writer.member("bnd", string: Base64.encodeURL(binding.array))
        }
        writer.endObject()
        let claims = writer.finish()
        return tokens.token(of: claims.readable)
    }

    /// Opens `token` if it is authentic. ``SessionToken/check(for:at:)`` tells if it is in time and
    /// for the route at hand.
    public func open(_ token: Span<UInt8>) throws(SessionTokenFailure) -> SessionToken {
        let claims = try tokens.open(token, byteCountMax: Self.tokenByteCountMax)
        guard let keyID = claims.string("kid", in: "cnf").flatMap({ KeyID(base64: $0.span) }),
            let appID = claims.text("app"),
            let environment = claims.text("env").flatMap(AttestEnvironment.init(rawValue:)),
            let issuedAt = claims.integer("iat"), let expiresAt = claims.integer("exp")
        else { throw .malformed }
        var session = SessionToken(
            keyID: keyID, appID: appID, environment: environment, issuedAt: issuedAt,
            expiresAt: expiresAt, audience: claims.strings(inArray: "aud"))
        if let platform = claims.text("plt") { session.platform = PlatformName(platform) }
        session.securityLevel = claims.text("lvl").flatMap(SecurityLevel.init(rawValue:))
        session.installation = claims.text("ins").flatMap { InstallationID($0) }
        session.bundleVersion = claims.text("ver")
        session.validationCategory = claims.integer("cat").flatMap { UInt32(exactly: $0) }
        if claims.has("bnd") {
            guard let hash = claims.string("bnd").flatMap({ Base64.decode($0.span) }),
                let binding = Bytes32(hash)
            else { throw .malformed }
            session.binding = binding
        }
        return session
    }
}

extension SessionToken {
    /// Throws unless the token is for the route `route` and valid at `seconds` since 1970.
    public func check(for route: String, at seconds: Int64) throws(SessionTokenFailure) {
        try TokenLife(issuedAt: issuedAt, expiresAt: expiresAt).check(at: seconds)
        guard audience.contains(route) else { throw .audience }
    }
}

/// `iat` and `exp` of a token, in seconds since 1970.
struct TokenLife {
    /// The seconds by which the clocks of gateways that share a key may differ.
    private static let clockSkewSeconds: Int64 = 5

    let issuedAt: Int64
    let expiresAt: Int64

    func check(at seconds: Int64) throws(SessionTokenFailure) {
        guard seconds < expiresAt else { throw .expired }
        guard issuedAt <= seconds + Self.clockSkewSeconds else { throw .notYetValid }
    }
}

extension JSONObjectReader {
    func text(_ name: StaticString) -> String? {
        string(name).map { String(decoding: $0, as: UTF8.self) }
    }
}
