import Attestation
import Bytes
import KeyStore

/// A verified enrolment that waits for its commit.
struct PendingEnrolment {
    var record: KeyRecord
    /// The id of the challenge that the enrolment answers.
    let challenge: Bytes16
    let attestationCertificate: AttestationCertificate?
    let details: [EnrolmentDetail]

    var keyID: KeyID { record.keyID }
}
