import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Crypto
import JSON
import Testing

@Suite("Explanations of Android attestations")
struct AndroidExplanationTests {}

extension AndroidExplanationTests {
    private static func expectations() throws -> AndroidExpectations {
        var expected = AndroidExpectations(at: androidNow)
        expected.roots = [try AndroidWorld.google.root]
        return expected
    }

    private static func outcome(_ name: String, _ explanation: Explanation) -> String? {
        explanation.steps.first { $0.name == name }?.outcome.rawValue
    }

    @Test("have the fields that tools read, lists as arrays")
    func fields() throws {
        let enrolment = try Enrolment { $0.packages = [androidPackage, "com.example.second"] }
        let explanation = Explanation.androidAttestation(
            enrolment.chain, expecting: try Self.expectations())
        let json = try JSONValue.parse(explanation.json.span, byteCountMax: 1 << 16)
        let fields = try #require(json["fields"])
        #expect(json["verdict"]?.stringValue == "valid" && json["code"]?.stringValue == "ok")
        #expect(fields["attestation_version"]?.integerValue == 300)
        #expect(fields["security_level"]?.stringValue == "tee")
        #expect(fields["verified_boot"]?.stringValue == "verified")
        #expect(fields["device_locked"]?.boolValue == true)
        #expect(fields["os_version"]?.integerValue == 140_000)
        #expect(fields["os_patch_level"]?.integerValue == 202_609)
        #expect(
            fields["package_names"]?.arrayValue
                == [.string(androidPackage), .string("com.example.second")])
        #expect(
            fields["signing_digests"]?.arrayValue == [.string(Hex.encode(androidDigest.array))])
        #expect(fields["challenge"]?.stringValue == Base64.encode(androidChallenge))
        #expect(
            fields["public_key"]?.stringValue == Base64.encode(enrolment.phone.publicKey.x963))
        #expect(
            fields["root"]?.stringValue
                == Hex.encode(try AndroidWorld.google.root.keyDigest.array))
        #expect(explanation.text.contains("\(androidPackage) com.example.second"))
    }

    @Test("skip visibly what was not given, and are valid without it")
    func skipped() throws {
        let enrolment = try Enrolment()
        let explanation = Explanation.androidAttestation(
            enrolment.chain, expecting: try Self.expectations())
        #expect(explanation.isValid)
        for name in [
            "challenge", "package", "signing_digest", "revocation", "key_id", "patch_level",
        ] {
            #expect(Self.outcome(name, explanation) == "skipped", "\(name)")
        }
    }

    @Test("compare what was given")
    func compared() throws {
        let enrolment = try Enrolment()
        func code(_ change: (inout AndroidExpectations) throws -> Void) throws -> String {
            var expected = try Self.expectations()
            try change(&expected)
            return Explanation.androidAttestation(enrolment.chain, expecting: expected).code
        }
        #expect(try code { $0.challenge = [1] } == "challenge_mismatch")
        #expect(try code { $0.packages = ["com.example.none"] } == "package")
        #expect(try code { $0.signingDigests = [.zero] } == "signing_digest")
        #expect(try code { $0.keyID = KeyID(digest: .zero) } == "key_id_mismatch")
        #expect(try code { $0.securityLevelMin = .strongBox } == "security_level")
        #expect(try code { $0.patchAgeMaxDays = 29 } == "patch_level")
        #expect(try code { $0.roots = [] } == "root_unknown")
        #expect(try code { $0.seconds = 0 } == "not_yet_valid")
        #expect(
            try code {
                $0.revocations = try RevocationList(
                    parsing: Array(#"{"entries":{"1":{"status":"SUSPENDED"}}}"#.utf8))
            } == "revoked")
    }

    @Test("can accept software keys and any boot state, to look at emulators")
    func anyDevice() throws {
        var expected = try Self.expectations()
        let software = try Enrolment(fault: .softwareKey)
        let unlocked = try Enrolment(fault: .unlocked)
        func code(_ enrolment: Enrolment) -> String {
            Explanation.androidAttestation(enrolment.chain, expecting: expected).code
        }
        #expect(code(software) == "security_level" && code(unlocked) == "device_unlocked")
        expected.securityLevelMin = .software
        expected.acceptsAnyBootState = true
        #expect(code(software) == "ok" && code(unlocked) == "ok")
    }

    @Test("judge by the demands of all apps that own the key, as the gateway does")
    func apps() throws {
        let second = "com.example.second"
        let bootKey = AndroidWorld.profile.bootKey
        let open = AndroidDemands(signingDigests: [androidDigest], bootKeys: [bootKey])
        let recent = AndroidDemands(signingDigests: [androidDigest], patchAgeMaxDays: 29)
        let strict = AndroidDemands(signingDigests: [androidDigest], securityLevel: .strongBox)
        let other = AndroidDemands(signingDigests: [.zero])
        let enrolments = [
            try Enrolment(), try Enrolment { $0.packages = [second] },
            try Enrolment { $0.packages = [second, androidPackage] },
            try Enrolment { $0.bootState = .selfSigned },
            try Enrolment {
                $0.bootState = .selfSigned
                $0.packages = [second, androidPackage]
            },
        ]
        for (first, others) in [
            (open, []), (open, [open]), (open, [recent]), (recent, [open]), (strict, [open]),
            (other, [open]), (open, [other]), (strict, [recent]),
        ] as [(AndroidDemands, [AndroidDemands])] {
            let apps =
                [AndroidWorld.app(first)] + others.map { AndroidWorld.app($0, id: second) }
            let verifier = try AndroidWorld.verifier(apps)
            var expected = try Self.expectations()
            expected.apps = apps
            for (number, enrolment) in enrolments.enumerated() {
                let explanation = Explanation.androidAttestation(
                    enrolment.chain, expecting: expected)
                #expect(
                    explanation.code == (try enrolment.code(verifier)), "\(number) \(apps)")
            }
        }
    }

    @Test("go on after a failure, and show a leaf without its chain")
    func goesOn() throws {
        let other = try Enrolment(fault: .otherRoot)
        let explanation = Explanation.androidAttestation(
            other.chain, expecting: try Self.expectations())
        #expect(explanation.code == "root_unknown")
        #expect(Self.outcome("signatures", explanation) == "skipped")
        #expect(Self.outcome("purpose", explanation) == "passed")
        let leaf = Explanation.androidAttestation(
            [other.chain[0]], expecting: try Self.expectations())
        #expect(leaf.code == "chain_length")
        #expect(leaf["security_level"] == .text("tee"))
        #expect(leaf["root"] == nil)
        #expect(
            Explanation.androidAttestation([], expecting: try Self.expectations()).code
                == "chain_length")
    }

    // MARK: files

    private static func pem(_ chain: [[UInt8]], _ lineEnd: String = "\n") -> String {
        chain.map { der in
            let text = Base64.encode(der)
            var lines = ["-----BEGIN CERTIFICATE-----"]
            var rest = Substring(text)
            while !rest.isEmpty {
                lines.append(String(rest.prefix(64)))
                rest = rest.dropFirst(64)
            }
            return (lines + ["-----END CERTIFICATE-----", ""]).joined(separator: lineEnd)
        }.joined()
    }

    @Test("are made of PEM, of a JSON array, and of the body of an enrolment")
    func inputs() throws {
        let chain = try Enrolment { $0.quirks = [.criticalAsOne] }.chain
        let array = "[" + chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",\n") + "]"
        for text in [
            Self.pem(chain), Self.pem(chain, "\r\n"), "leaf:\n" + Self.pem(chain) + "\nend\n",
            array,
            #"{"platform":"android","chain":\#(array)}"#,
        ] {
            #expect(AndroidChainInput.chain(Array(text.utf8)) == chain)
        }
    }

    @Test(
        "are of no certificates if a file has none that can be read",
        arguments: [
            "", "[]", "{}", "[1]", #"["not base64!"]"#, "-----BEGIN CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n",
            "-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----",
        ])
    func noInput(text: String) {
        #expect(AndroidChainInput.chain(Array(text.utf8)) == nil)
    }

    @Test("are of bounded files")
    func inputBounds() {
        let many = "[" + [String](repeating: "\"AA==\"", count: 65).joined(separator: ",") + "]"
        #expect(AndroidChainInput.chain(Array(many.utf8)) == nil)
        let long = [UInt8](repeating: 0x20, count: AndroidChainInput.byteCountMax + 1)
        #expect(AndroidChainInput.chain(long) == nil)
    }
}
