/// The reason why a token of another issuer is not accepted: for log and metrics, never for a
/// client.
public enum TokenFailure: String, Error, Hashable, Sendable, CaseIterable {
    case malformed = "proof_malformed"
    /// The algorithm was not agreed on, or is not the key's.
    case algorithm = "proof_algorithm"
    /// The token has an extension that must be understood (`crit`, RFC 7515 section 4.1.11).
    case critical = "proof_critical"
    /// The issuer's keys could not be fetched. This is no fault of the token.
    case keysMissing = "proof_keys"
    /// No key has the token's id; or it names none, and there are several keys, all with ids.
    case keyUnknown = "proof_key_unknown"
    case signature = "proof_signature"
    case issuer = "proof_issuer"
    case audience = "proof_audience"
    case subject = "proof_subject"
    case expired = "proof_expired"
    /// The token begins, or was issued, later than this machine's clock and the allowed clock skew
    /// permit.
    case notYetValid = "proof_not_yet_valid"
}
