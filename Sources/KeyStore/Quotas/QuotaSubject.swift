public import Attestation
public import Bytes
import Crypto

/// The sender that a quota counts a request for.
public enum QuotaSubject: Hashable, Sendable {
    case key(KeyID)
    case user(UserPseudonym)
    /// A client's network, by the pseudonym that stands for it.
    case network(Bytes16)
    case app(String)
    case installation(InstallationID)
    /// All senders that the quota cannot tell apart. They share a count; otherwise they would have
    /// no limit.
    case unknown

    /// The name of this subject's count.
    ///
    /// It depends on no secret, except for subjects that are pseudonyms, so that a secret which is
    /// replaced gives no sender a new budget. A quota with another name, unit of its period or
    /// measure counts anew: bytes must not go on as requests.
    ///
    /// - Parameters:
    ///   - unit: the quota's period as the configuration writes it.
    ///   - measure: what is counted, in words that tell it from every other measure.
    public func countName(
        ofQuota quota: String, per unit: String, of measure: String
    ) -> Bytes16 {
        let (kind, bytes): (String, [UInt8]) =
            switch self {
            case .key(let keyID): ("key", keyID.digest.array)
            case .user(let user): ("user", user.value.array)
            case .network(let pseudonym): ("network", pseudonym.array)
            case .app(let id): ("app", Array(id.utf8))
            case .installation(let id): ("installation", id.value.array)
            case .unknown: ("unknown", [])
            }
        // No setting and no kind has a NUL in it, so no two texts are the same.
        let text =
            ["sallyport quota", quota, unit, measure, kind].joined(separator: "\0") + "\0"
        let digest = SHA256.hash(Array(text.utf8) + bytes)
        return Bytes16(word0: digest.word0, word1: digest.word1)
    }
}
