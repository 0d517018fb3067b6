import Bytes
import Crypto
import JSON

/// Issues session tokens and recognises its own: JWTs with HMAC-SHA256 (RFC 7519, RFC 7515 section
/// 3.1, RFC 7518 section 3.2), for gateways that share keys.
///
/// The header is never interpreted: a token begins with one of the headers that the keys write, or
/// it is not ours. So no token can name its own algorithm (RFC 8725 section 3.1).
public struct SessionTokenSealer: Sendable {
    private struct Generation: Sendable {
        let key: HMACKey
        /// The encoded header and the period behind it.
        let prefix: [UInt8]
    }

    private let generations: [Generation]

    /// Characters of the longest token that is looked at.
    public static let tokenByteCountMax = 4096
    /// Names in an audience, of at most 64 bytes each, fit into it.
    public static let audienceCountMax = 32
    private static let issuer: StaticString = "sallyport"
    private static let signatureByteCount = 43

    /// `keys`: 32 bytes each; the first signs, every one is recognised. Nil for none or another
    /// length. Keys of challenges may be given: what is signed with is derived from them.
    public init?(keys: [[UInt8]]) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == 32 }) else { return nil }
        generations = keys.map { key in
            let master = HMACKey(key)
            let nameLabel = Array("sallyport session token name".utf8)
            let name = HMACSHA256.authenticate(nameLabel, key: master)
            let seal = HMACSHA256.authenticate(Array("sallyport session token".utf8), key: master)
            let header = #"{"alg":"HS256","kid":""# + Hex.encode(name.word0) + #"","typ":"JWT"}"#
            return Generation(
                key: HMACKey(seal.array),
                prefix: Base64.encodeURLBytes(Array(header.utf8)) + [UInt8(ascii: ".")])
        }
    }

    /// The token, as ASCII bytes.
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
        if let version = session.bundleVersion { writer.member("ver", string: version) }
        if let category = session.validationCategory { writer.member("cat", int: Int64(category)) }
        if let binding = session.binding {
            writer.member("bnd", string: Base64.encodeURL(binding.array))
        }
        writer.endObject()
        let claims = writer.finish()
        let generation = generations[0]
        let signed = generation.prefix + Base64.encodeURLBytes(claims.readable.array)
        let signature = HMACSHA256.authenticate(signed.span, key: generation.key)
        return signed + [UInt8(ascii: ".")] + Base64.encodeURLBytes(signature.array)
    }

    /// What `token` says, where it is authentic, for the route `audience`, and valid at `seconds`
    /// since 1970. The result's audience is that route.
    public func open(
        _ token: Span<UInt8>, for audience: String, at seconds: Int64
    ) throws(SessionTokenFailure) -> SessionToken {
        let signedByteCount = token.count - Self.signatureByteCount - 1
        guard token.count <= Self.tokenByteCountMax, signedByteCount > 0,
            token[signedByteCount] == UInt8(ascii: ".")
        else { throw .malformed }
        let signed = token.extracting(0..<signedByteCount)
        guard let generation = generations.first(where: { Self.begins(signed, with: $0.prefix) })
        else { throw .notOurs }
        let encoded = token.extracting((signedByteCount + 1)..<token.count)
        guard let raw = Base64.decode(encoded), let signature = Bytes32(raw) else {
            throw .malformed
        }
        guard HMACSHA256.isValid(signature, for: signed, key: generation.key) else {
            throw .signature
        }
        let claims = signed.extracting(generation.prefix.count..<signedByteCount)
        return try Self.read(claims, for: audience, at: seconds)
    }

    private static func begins(_ text: Span<UInt8>, with prefix: [UInt8]) -> Bool {
        text.count > prefix.count
            && ASCII.equals(text.extracting(first: prefix.count), prefix)
    }

    /// Whoever signed the claims wrote them; what does not read is of another version.
    private static func read(
        _ encoded: Span<UInt8>, for audience: String, at seconds: Int64
    ) throws(SessionTokenFailure) -> SessionToken {
        guard let json = Base64.decode(encoded) else { throw .malformed }
        let claims: JSONObjectReader
        do {
            claims = try JSONObjectReader(
                parsing: json.span, byteCountMax: tokenByteCountMax, depthMax: 4)
        } catch {
            throw .malformed
        }
        func text(_ name: StaticString) -> String? {
            claims.string(name).map { String(decoding: $0, as: UTF8.self) }
        }
        guard let issuedAt = claims.integer("iat"), let expiresAt = claims.integer("exp"),
            let keyID = claims.string("kid", in: "cnf").flatMap({ KeyID(base64: $0.span) }),
            let appID = text("app"),
            let environment = text("env").flatMap(AttestEnvironment.init(rawValue:))
        else { throw .malformed }
        guard seconds < expiresAt else { throw .expired }
        guard issuedAt <= seconds + Challenge.clockSkewMilliseconds / 1000 else {
            throw .notYetValid
        }
        guard claims.contains(audience, inArray: "aud") else { throw .audience }
        var session = SessionToken(
            keyID: keyID, appID: appID, environment: environment, issuedAt: issuedAt,
            expiresAt: expiresAt, audience: [audience])
        session.bundleVersion = text("ver")
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
