public import Crypto
import JWT

/// A key of the operator from Apple's developer site (`.p8`), which signs in for one team.
public struct AppleKey: Hashable, Sendable {
    public let teamID: String
    let signer: ES256Signer

    /// The key's id, as Apple shows it.
    public var keyID: String { signer.keyID }

    public init(teamID: String, keyID: String, key: P256PrivateKey) {
        self.teamID = teamID
        signer = ES256Signer(key: key, keyID: keyID)
    }

    public static func == (left: AppleKey, right: AppleKey) -> Bool {
        left.teamID == right.teamID && left.keyID == right.keyID
            && left.signer.key.publicKey == right.signer.key.publicKey
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(teamID)
        hasher.combine(keyID)
        hasher.combine(signer.key.publicKey)
    }
}
