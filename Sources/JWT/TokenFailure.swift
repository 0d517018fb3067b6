/// Why a token of another issuer is not accepted: for log and metrics, never for a client.
public enum TokenFailure: String, Error, Hashable, Sendable, CaseIterable {
    case malformed = "proof_malformed"
    /// An algorithm that was not agreed on, or not the one that the key is for.
    case algorithm = "proof_algorithm"
    /// An extension that must be understood (`crit`, RFC 7515 section 4.1.11).
    case critical = "proof_critical"
    /// The issuer's keys could not be fetched. This is no fault of the token.
    case keysMissing = "proof_keys"
    /// No key has that id; or it names none, and there are several, all with ids.
    case keyUnknown = "proof_key_unknown"
    case signature = "proof_signature"
    case issuer = "proof_issuer"
    case audience = "proof_audience"
    case subject = "proof_subject"
    case expired = "proof_expired"
    /// It begins, or was issued, later than this machine's clock and what clocks may differ by
    /// allow.
    case notYetValid = "proof_not_yet_valid"
}
