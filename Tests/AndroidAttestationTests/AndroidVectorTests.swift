import AndroidAttestation
import Attestation
import Bytes
import Crypto
import Testing

@Suite(
    "Android attestations of real phones",
    .enabled(if: AndroidVectors.arePresent, AndroidVectors.absent))
struct AndroidVectorTests {}

extension AndroidVectorTests {
    static let accepted = AndroidVectors.chains.filter { $0.standard?.isValid == true }

    private static func explanation(
        of vector: AndroidVector, _ change: (inout AndroidExpectations) -> Void = { _ in }
    ) throws -> Explanation {
        var expected = AndroidExpectations(at: vector.seconds)
        expected.revocations = try vector.revocationList.map(AndroidVectors.revocationList)
        change(&expected)
        return .androidAttestation(vector.certificates, expecting: expected)
    }

    @Test("get their recorded verdict by the default policy", arguments: AndroidVectors.chains)
    func standard(vector: AndroidVector) throws {
        let explanation = try Self.explanation(of: vector)
        #expect(explanation.isValid == vector.standard?.isValid, "\(explanation.text)")
        #expect(explanation.code == vector.standard?.code ?? "ok")
    }

    @Test("get their recorded verdict for any device", arguments: AndroidVectors.chains)
    func anyDevice(vector: AndroidVector) throws {
        let explanation = try Self.explanation(of: vector) {
            $0.securityLevelMin = .software
            $0.acceptsAnyBootState = true
        }
        #expect(explanation.isValid == vector.anyDevice?.isValid, "\(explanation.text)")
        #expect(explanation.code == vector.anyDevice?.code ?? "ok")
    }

    @Test("say what is recorded of them", arguments: AndroidVectors.chains + AndroidVectors.leaves)
    func contents(vector: AndroidVector) throws {
        guard let fields = vector.fields else { return }
        let explanation = try Self.explanation(of: vector)
        #expect(explanation["attestation_version"] == .integer(fields.attestationVersion))
        #expect(explanation["security_level"] == .text(fields.securityLevel))
        #expect(explanation["verified_boot"] == fields.verifiedBoot.map { .text($0) })
        #expect(explanation["device_locked"] == fields.deviceLocked.map { .boolean($0) })
        #expect(explanation["os_version"] == fields.osVersion.map { .integer($0) })
        #expect(explanation["os_patch_level"] == fields.osPatchLevel.map { .integer($0) })
        #expect(explanation["package_names"] == .texts(fields.packageNames))
        #expect(explanation["signing_digests"] == .texts(fields.signingDigests))
        #expect(explanation["challenge"] == .text(fields.challenge))
        guard vector.kind == "chain" else { return }
        #expect(explanation["verified_boot_key"] == fields.verifiedBootKey.map { .text($0) })
        #expect(explanation["public_key"] == fields.publicKey.map { .text($0) })
        #expect(explanation["root"] == fields.root.map { .text($0) })
        #expect(explanation["provisioning"] == fields.provisioning.map { .text($0) })
        #expect(
            explanation["certificates_issued"]
                == fields.certificatesIssued.map { .integer(Int64($0)) })
        #expect(explanation["serials"] == fields.serials.map { .texts($0) })
    }

    @Test("are verified for their own app, challenge and key alone", arguments: accepted)
    func verified(vector: AndroidVector) throws {
        let fields = try #require(vector.fields)
        let digests = fields.signingDigests.compactMap(Hex.decode).compactMap { Bytes32($0) }
        let point = try #require(fields.publicKey.flatMap { Base64.decode($0) })
        let pointKey = P256PublicKey(x963: point.span)
        let key = try #require(pointKey)
        let challenge = try #require(Base64.decode(fields.challenge))
        let apps = fields.packageNames.map { name in
            AppIdentity(
                android: name, environments: [.production],
                demands: AndroidDemands(signingDigests: digests))
        }
        func failure(
            apps: [AppIdentity] = apps, challenge: [UInt8] = challenge, key: P256PublicKey = key
        ) -> AndroidAttestationFailure? {
            let verifier = AndroidAttestationVerifier(
                roots: AndroidRoots.published, apps: apps, clockSkewSeconds: 60)
            do throws(AndroidAttestationFailure) {
                let verified = try verifier.verify(
                    chain: vector.certificates, challenge: challenge, keyID: KeyID(of: key),
                    revocations: nil, at: vector.seconds)
                #expect(verified.publicKey == key)
                #expect(verified.serials.map(\.hex) == fields.serials)
                #expect(verified.osVersion == fields.osVersion)
                #expect(verified.osPatchLevel == fields.osPatchLevel)
                #expect(verified.securityLevel.name == fields.securityLevel)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure() == nil)
        #expect(failure(challenge: challenge + [0]) == .challengeMismatch)
        #expect(failure(apps: []) == .package)
        #expect(failure(apps: Array(apps.dropFirst())) == .package)
        #expect(failure(key: P256PublicKey(x: key.y, y: key.x)) == .keyIDMismatch)
    }

    @Test("are refused in another order, and without one certificate", arguments: accepted)
    func rearranged(vector: AndroidVector) {
        let chain = vector.certificates
        let expected = AndroidExpectations(at: vector.seconds)
        func isValid(_ chain: [[UInt8]]) -> Bool {
            Explanation.androidAttestation(chain, expecting: expected).isValid
        }
        #expect(!isValid(chain.reversed()))
        for index in chain.indices {
            var changed = chain
            changed.remove(at: index)
            #expect(!isValid(changed), "without certificate \(index)")
            changed = chain
            changed.insert(chain[index], at: index)
            #expect(!isValid(changed) || index == chain.count - 1, "certificate \(index) twice")
        }
    }

    @Test("never trap and never change their meaning when damaged", arguments: accepted)
    func damaged(vector: AndroidVector) {
        let chain = vector.certificates
        let expected = AndroidExpectations(at: vector.seconds)
        let original = Explanation.androidAttestation(chain, expecting: expected)
        for index in chain.indices {
            // A prime step reaches other bytes in each vector.
            for position in stride(from: vector.name.utf8.count % 7, to: chain[index].count, by: 53)
            {
                var changed = chain
                changed[index][position] ^= 0x20
                let explanation = Explanation.androidAttestation(changed, expecting: expected)
                guard explanation.isValid else { continue }
                #expect(index == chain.count - 1, "byte \(position) of certificate \(index)")
                #expect(explanation["public_key"] == original["public_key"])
                #expect(explanation["root"] == original["root"])
            }
        }
    }

    @Test("of which only a description is known are read", arguments: AndroidVectors.extensions)
    func descriptions(vector: AndroidVector) throws {
        let fields = try #require(vector.fields)
        let value = try #require(vector.extension.flatMap { Base64.decode($0) })
        let description = try KeyDescription(inAnyOrder: value.span)
        #expect(description.attestationVersion == fields.attestationVersion)
        #expect(description.attestationSecurityLevel.name == fields.securityLevel)
        #expect(description.hasAscendingTags == fields.tagsRising)
        let root = description.hardwareEnforced.rootOfTrust
        #expect(root?.bootState.name == fields.verifiedBoot)
        #expect(root?.isDeviceLocked == fields.deviceLocked)
        #expect(description.hardwareEnforced.osVersion == fields.osVersion)
        #expect(description.hardwareEnforced.osPatchLevel == fields.osPatchLevel)
        let id = description.softwareEnforced.applicationID
        #expect(id?.packages.map(\.name) == fields.packageNames)
        if !fields.tagsRising {
            #expect(throws: KeyDescriptionMalformation.tagOrder) {
                try KeyDescription(parsing: value.span)
            }
        }
    }

    @Test("have the five published roots, of two keys, and never the software roots")
    func roots() throws {
        var digests: Set<Bytes32> = []
        for name in [
            "google-ec-20250717", "google-rsa-20160526", "google-rsa-20191122",
            "google-rsa-20211117", "google-rsa-20220320",
        ] {
            let roots = try AndroidRoot.parsePEM(AndroidVectors.certificateFile("\(name).pem"))
            digests.formUnion(roots.map(\.keyDigest))
        }
        #expect(digests == Set(AndroidRoots.published.map(\.keyDigest)))
        let software = try AndroidVectors.certificateFile("NOT-TRUSTED-aosp-software-roots.pem")
        for certificate in try Certificate.parsePEM(software) {
            guard let root = try? AndroidRoot(certificate) else { continue }
            #expect(!digests.contains(root.keyDigest))
        }
    }
}
