import AppAttest
import Bytes
public import Crypto
import JSON

/// A key by which an operator signs in at a stand-in for Apple's services.
public struct SignInKey: Sendable {
    public let teamID: String
    public let keyID: String
    public let publicKey: P256PublicKey

    public init(teamID: String, keyID: String, publicKey: P256PublicKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.publicKey = publicKey
    }
}

/// Judges tokens as Apple does: ES256 by a known key, for its team, of the last hour.
struct SignInVerifier {
    private let keys: [SignInKey]
    private var revoked: Set<String> = []

    /// The longest age of a token. Apple's own bound is not published; clocks differ, and senders
    /// keep a token for a while.
    private static let tokenLifeSeconds: Int64 = 3600
    private static let clockSkewSeconds: Int64 = 300

    init(_ keys: [SignInKey]) { self.keys = keys }

    mutating func revoke(keyID: String) { revoked.insert(keyID) }

    mutating func restore(keyID: String) { revoked.remove(keyID) }

    /// The key that signed the token, or nil if the token is not valid.
    func key(of token: String, at seconds: Int64) -> SignInKey? {
        let text = Array(token.utf8)
        let parts = text.split(separator: 0x2E, omittingEmptySubsequences: false).map(Array.init)
        guard parts.count == 3, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            header["alg"]?.stringValue == "ES256", let keyID = header["kid"]?.stringValue,
            let key = keys.first(where: { $0.keyID == keyID }), !revoked.contains(keyID),
            claims["iss"]?.stringValue == key.teamID, case .integer(let issuedAt) = claims["iat"],
            issuedAt > seconds - Self.tokenLifeSeconds,
            issuedAt < seconds + Self.clockSkewSeconds
        else { return nil }
        let signed = Array(text.prefix(parts[0].count + 1 + parts[1].count))
        return Self.isValid(parts[2], signed, key.publicKey) ? key : nil
    }

    private static func json(_ part: [UInt8]) -> JSONValue? {
        guard let text = Base64.decode(part.span) else { return nil }
        return try? JSONValue.parse(text.span, byteCountMax: 4096)
    }

    private static func isValid(
        _ encoded: [UInt8], _ signed: [UInt8], _ key: P256PublicKey
    ) -> Bool {
        guard let raw = Base64.decode(encoded.span) else { return false }
        let signature = P256Signature(raw: raw.span)
        guard let der = try? signature?.der(), var verifier = try? P256Verifier() else {
            return false
        }
        return verifier.isValid(signature: der.span, message: signed.span, key: key)
    }
}
