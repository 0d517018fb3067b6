import Bytes
import Crypto

/// The certificates of an attestation, leaf first and root last, read and not verified.
struct AndroidChain: Sendable {
    let certificates: [AndroidCertificate]

    /// Reads the chain. Its length and the sizes of its certificates are looked at first.
    init(_ chain: [[UInt8]]) throws(AndroidAttestationFailure) {
        guard AndroidAttestationVerifier.certificateCounts.contains(chain.count) else {
            throw .chainLength(chain.count)
        }
        for (index, der) in chain.enumerated()
        where der.count > AndroidAttestationVerifier.certificateByteCountMax {
            throw .certificateMalformed(index: index, .tooLong(byteCount: der.count))
        }
        var certificates: [AndroidCertificate] = []
        for (index, der) in chain.enumerated() {
            do {
                certificates.append(try AndroidCertificate(der, isLeaf: index == 0))
            } catch {
                throw .certificateMalformed(index: index, error)
            }
        }
        self.certificates = certificates
    }

    var leaf: AndroidCertificate { certificates[0] }
    /// The certificate of the key that the phone was given, once ``AndroidProvisioning`` has found
    /// that it is.
    var attestation: AndroidCertificate { certificates[1] }
    var root: AndroidCertificate { certificates[certificates.count - 1] }
    /// The indices of the certificates between leaf and root.
    var intermediates: Range<Int> { 1..<certificates.count - 1 }

    var serials: [CertificateSerial] { certificates.map(\.serial) }
}
