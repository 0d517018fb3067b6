import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Crypto
import Testing

@Suite("Chains of Android certificates")
struct AndroidChainTests {}

extension AndroidChainTests {
    private static let day: Int64 = 86_400

    @Test("of factories are accepted when expired, and refused before they are valid")
    func factoryValidity() throws {
        var enrolment = try Enrolment()
        enrolment.seconds = androidNow + 20_000 * Self.day
        #expect(try enrolment.code() == "ok")
        // The issuers begin two years before.
        enrolment.seconds = androidNow - 731 * Self.day
        #expect(try enrolment.code() == "not_yet_valid")
        enrolment.seconds = androidNow - 730 * Self.day - 60
        #expect(try enrolment.code() == "ok")
        enrolment.seconds -= 1
        #expect(try enrolment.code() == "not_yet_valid")
        #expect(try enrolment.code(AndroidWorld.verifier(skewSeconds: 3600)) == "ok")
    }

    @Test("of servers are accepted while they are valid, with the clock's skew")
    func remoteValidity() throws {
        for quirks: Set<PhoneQuirk> in [[], [.noProvisioningInfo]] {
            var enrolment = try Enrolment {
                $0.provisioning = .remote
                $0.quirks = quirks
            }
            // The attestation certificate is valid from 3 days before to 20 days after.
            for (days, second, code) in [
                (Int64(20), Int64(60), "ok"), (20, 61, "expired"), (-3, -60, "ok"),
                (-3, -61, "not_yet_valid"),
            ] {
                enrolment.seconds = androidNow + days * Self.day + second
                #expect(try enrolment.code() == code, "\(days) days and \(second) seconds")
            }
        }
    }

    @Test("are judged at any time without a trap")
    func extremes() throws {
        for provisioning in PhoneProfile.Provisioning.allCases {
            var enrolment = try Enrolment { $0.provisioning = provisioning }
            let verifier = try AndroidWorld.verifier(skewSeconds: .max)
            for seconds in [Int64.min, -1, 0, .max] {
                enrolment.seconds = seconds
                _ = try enrolment.code(verifier)
                _ = try enrolment.code()
            }
            enrolment.seconds = androidNow
            #expect(try enrolment.code(AndroidWorld.verifier(skewSeconds: -5)) == "ok")
        }
    }

    @Test("say how many certificates the server issued, if it does")
    func provisioning() throws {
        let new = try Enrolment {
            $0.provisioning = .remote
            $0.certificatesIssued = 5000
        }
        #expect(try new.verify().provisioning == .remote(certificatesIssued: 5000))
        let old = try Enrolment {
            $0.provisioning = .remote
            $0.quirks = [.noProvisioningInfo]
        }
        #expect(try old.verify().provisioning == .remote(certificatesIssued: nil))
        #expect(try Enrolment().verify().provisioning == .factory)
    }

    @Test(
        "read what servers write",
        arguments: [
            ("a10108", UInt64?.some(8)), ("a201181a03a0", 26), ("a0", nil),
            ("a20366476f6f676c650104", 4), ("a1636f6e6501", nil), ("a2206101 0102", 2),
        ])
    func provisioningInfo(hex: String, count: UInt64?) throws {
        let bytes = try #require(Hex.decode(hex.filter { $0 != " " }))
        #expect(try ProvisioningInfo(parsing: bytes.span).certificatesIssued == count)
    }

    @Test(
        "refuse what servers do not write",
        arguments: [
            "", "80", "a1", "a101", "a10120", "a1016161", "a1010200", "bf0102ff", "a201010102",
        ])
    func provisioningInfoMalformed(hex: String) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(throws: (any Error).self) { try ProvisioningInfo(parsing: bytes.span) }
    }

    @Test("cost no more signature checks than they have links")
    func cost() throws {
        func count(_ chain: [[UInt8]], _ phone: SimulatedPhone) throws -> Int {
            var count = 0
            _ = try? AndroidWorld.verifier().verify(
                chain: chain, challenge: androidChallenge, keyID: phone.keyID, revocations: nil,
                at: androidNow, signatureCheckCount: &count)
            return count
        }
        for provisioning in PhoneProfile.Provisioning.allCases {
            let enrolment = try Enrolment { $0.provisioning = provisioning }
            #expect(
                try count(enrolment.chain, enrolment.phone) == enrolment.chain.count - 1)
        }
        for fault in AndroidFault.allCases {
            let enrolment = try Enrolment(fault: fault) { $0.provisioning = .remote }
            let checks = try count(enrolment.chain, enrolment.phone)
            #expect(checks <= 4, "\(fault)")
            // What can be seen without a signature costs none.
            let cheap = [
                "chain_length", "certificate_malformed", "leaf_key", "root_unknown", "chain_order",
                "extension_in_intermediate", "extension_missing", "issuer_key", "key_id_mismatch",
                "attestation_certificate",
            ]
            if cheap.contains(fault.code) { #expect(checks == 0, "\(fault)") }
        }
        // A chain of strangers' certificates below a genuine root fails at the first link.
        let enrolment = try Enrolment(fault: .issuerSignedByOther) { $0.provisioning = .remote }
        #expect(try count(enrolment.chain, enrolment.phone) == 3)
    }

    @Test("are not verified again for the challenge's other spelling")
    func spellings() throws {
        let enrolment = try Enrolment()
        let wrong = androidChallenge + [0]
        for (other, isAccepted) in [(androidChallenge, true), (wrong, false)] {
            var checkCount = 0
            let verified = try? AndroidWorld.verifier().verify(
                chain: enrolment.chain, challenge: wrong, otherChallenge: other,
                keyID: enrolment.phone.keyID, revocations: nil, at: androidNow,
                signatureCheckCount: &checkCount)
            #expect((verified != nil) == isAccepted)
            #expect(checkCount == enrolment.chain.count - 1)
        }
    }

    @Test("never change their meaning when a byte is changed")
    func mutations() throws {
        for provisioning in PhoneProfile.Provisioning.allCases {
            let enrolment = try Enrolment { $0.provisioning = provisioning }
            let verifier = try AndroidWorld.verifier()
            let original = try enrolment.verify(verifier)
            for index in enrolment.chain.indices {
                let isRoot = index == enrolment.chain.count - 1
                for position in enrolment.chain[index].indices {
                    var changed = enrolment
                    changed.chain[index][position] ^= UInt8(1 << (position % 8))
                    // Of the root nothing but its name and its key counts.
                    guard let verified = try? changed.verify(verifier) else { continue }
                    #expect(isRoot, "byte \(position) of certificate \(index)")
                    #expect(verified.publicKey == original.publicKey)
                    #expect(verified.serials.dropLast() == original.serials.dropLast())
                    #expect(verified.securityLevel == original.securityLevel)
                }
            }
        }
    }

    @Test("cut to any length are refused, and trap nothing")
    func cuts() throws {
        let enrolment = try Enrolment { $0.provisioning = .remote }
        let verifier = try AndroidWorld.verifier()
        for index in enrolment.chain.indices {
            for byteCount in enrolment.chain[index].indices {
                var changed = enrolment
                changed.chain[index] = Array(enrolment.chain[index].prefix(byteCount))
                #expect(try changed.code(verifier) == "certificate_malformed")
            }
        }
        for count in enrolment.chain.indices {
            var changed = enrolment
            changed.chain = Array(enrolment.chain.prefix(count))
            #expect(try changed.failure(verifier) != nil)
        }
    }

    @Test("are compared by the root's key, whatever else its certificate says")
    func renewedRoot() throws {
        let enrolment = try Enrolment()
        let root = try #require(enrolment.chain.last)
        var changed = enrolment
        // The last byte is of the root's own signature, which proves nothing.
        changed.chain[enrolment.chain.count - 1][root.count - 1] ^= 1
        #expect(try changed.code() == "ok")
    }

    @Test("the roots in the source are Google's, and no software root is among them")
    func roots() throws {
        #expect(
            Hex.encode(AndroidRoots.rsa.keyDigest.array)
                == "feb2ea7551ee316ed4bb443c8293b884dbfdea40b603ee3e4f4a897e4580fbae")
        #expect(
            Hex.encode(AndroidRoots.ec.keyDigest.array)
                == "3ee44512a1af2beb39c889490c60ea3f82e43f5d5a5532f5ab9419f676cd07ec")
        #expect(AndroidRoots.published == [AndroidRoots.rsa, AndroidRoots.ec])
        #expect(
            try AndroidRoot.parsePEM(AndroidWorld.google.rootPEM)
                == [AndroidWorld.google.root])
        #expect(throws: CryptoError.self) { try AndroidRoot.parsePEM([]) }
    }
}
