import AppAttest
import Bytes
import KeyStore

/// A verified attestation that waits for its commit.
struct PendingEnrolment {
    var record: KeyRecord
    /// The id of the challenge that the attestation answers.
    let challenge: Bytes16
    let macSecurity: MacSecurity

    var keyID: KeyID { record.keyID }
}
