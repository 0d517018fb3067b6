import Attestation
import Bytes
import KeyStore

/// A verified enrolment that waits for its commit.
struct PendingEnrolment {
    var record: KeyRecord
    /// The id of the challenge that the enrolment answers.
    let challenge: Bytes16
    /// True if the challenge is too old for a key that is not enrolled yet.
    let isLate: Bool
    let attestationCertificate: AttestationCertificate?
    var details: [EnrolmentDetail]
    var ticket = BroughtTicket.none

    var keyID: KeyID { record.keyID }
}

/// The ticket of an enrolment, by which its key takes the place of another.
enum BroughtTicket {
    case none
    /// It is damaged, or of another app, or was sealed with keys that this gateway does not have.
    case invalid
    case valid(SuccessionClaim)

    var claim: SuccessionClaim? {
        if case .valid(let claim) = self { claim } else { nil }
    }
}
