import Bytes
import Crypto
import Testing

@Suite(
    "Objects of real devices",
    .enabled(if: SharedFiles.arePresent, "absent: ../shared/vectors"))
struct RealObjectTests {}

extension RealObjectTests {
    @Test("Apple's certificates are what their published fingerprints say")
    func fingerprints() throws {
        let root = try SharedFiles.certificate("Apple_App_Attestation_Root_CA")
        #expect(
            Hex.encode(root.fingerprint.array)
                == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
        let receiptRoot = try SharedFiles.certificate("Apple_Root_CA-G3")
        #expect(
            Hex.encode(receiptRoot.fingerprint.array)
                == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
    }

    @Test("attestation chains hold at their time, under Apple's root alone")
    func attestations() throws {
        let root = try SharedFiles.certificate("Apple_App_Attestation_Root_CA")
        let others = try [
            "Apple_WebAuthn_Root_CA", "Apple_Root_CA-G3", "FAKE_App_Attestation_Root_notAfter_2039",
            "FAKE_selfsigned_Apple_App_Attestation_CA_1",
        ].map(SharedFiles.certificate)
        let vectors = try SharedFiles.vectors("att-")
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let chain = try vector.chain()
            let seconds = try vector.seconds()
            let leaf = try #require(chain.first)
            #expect(throws: Never.self, "\(vector.id)") {
                try CertificateChain.verify(
                    leaf: leaf, intermediates: Array(chain.dropFirst()), roots: [root],
                    at: seconds)
            }
            #expect(leaf.publicKey?.x963 == vector.publicKey, "\(vector.id)")
            for other in others {
                #expect(throws: CertificateChainError.self, "\(vector.id)") {
                    try CertificateChain.verify(
                        leaf: leaf, intermediates: Array(chain.dropFirst()) + [other],
                        roots: [other], at: seconds)
                }
            }
            #expect(throws: CertificateChainError.expired, "\(vector.id)") {
                try CertificateChain.verify(
                    leaf: leaf, intermediates: Array(chain.dropFirst()), roots: [root],
                    at: seconds + 400 * 86_400)
            }
        }
    }

    @Test("the circulating forgeries are refused, by their reasons")
    func forgeries() throws {
        let leaf = try #require(SharedFiles.vectors("att-").first?.chain().first)
        let genuine = try SharedFiles.certificate("Apple_App_Attestation_CA_1")
        let forgedRoot = try SharedFiles.certificate("FAKE_App_Attestation_Root_notAfter_2039")
        #expect(throws: CertificateChainError.badSignature) {
            try CertificateChain.verify(
                leaf: leaf, intermediates: [genuine], roots: [forgedRoot], at: leaf.notBefore)
        }
        let namesake = try SharedFiles.certificate("FAKE_selfsigned_Apple_App_Attestation_CA_1")
        let root = try SharedFiles.certificate("Apple_App_Attestation_Root_CA")
        #expect(throws: CertificateChainError.untrusted) {
            try CertificateChain.verify(
                leaf: leaf, intermediates: [namesake], roots: [root], at: leaf.notBefore)
        }
        #expect(throws: Never.self) {
            try CertificateChain.verify(
                leaf: leaf, intermediates: [namesake, genuine], roots: [root],
                at: leaf.notBefore)
        }
    }

    @Test("receipts verify at their creation, or are refused, as recorded")
    func receipts() throws {
        let root = try SharedFiles.certificate("Apple_Root_CA-G3")
        let wrongRoot = try SharedFiles.certificate("Apple_App_Attestation_Root_CA")
        let vectors = try SharedFiles.vectors("rec-")
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let message = try SignedData(ber: vector.object)
            let seconds = try vector.seconds()
            guard vector.expected == "accept" else {
                #expect(vector.expected == "reject:cms", "\(vector.id)")
                #expect(throws: SignedDataError.badSignature, "\(vector.id)") {
                    try message.verify(roots: [root], at: seconds)
                }
                continue
            }
            #expect(throws: Never.self, "\(vector.id)") {
                try message.verify(roots: [root], at: seconds)
            }
            #expect(message.content.first == 0x31, "\(vector.id)")
            #expect(throws: SignedDataError.signer(.untrusted), "\(vector.id)") {
                try message.verify(roots: [wrongRoot], at: seconds)
            }
            #expect(throws: SignedDataError.signer(.expired), "\(vector.id)") {
                try message.verify(roots: [root], at: message.signer.notAfter + 1)
            }
        }
    }
}
