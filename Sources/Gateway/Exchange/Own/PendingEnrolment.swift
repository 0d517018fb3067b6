import AppAttest
import Bytes
import KeyStore

/// An attestation that verified: an enrolment that waits for its commit.
struct PendingEnrolment {
    var record: KeyRecord
    /// The id of the one that it answers.
    let challenge: Bytes16
    let macSecurity: MacSecurity

    var keyID: KeyID { record.keyID }
}
