import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import JSON

extension FuzzTarget {
    /// The chain of an Android key, as certificates behind two bytes of length each: explained to
    /// the end whatever it is, and accepted for nothing but what the simulated phone attests.
    static let androidChain = FuzzTarget(
        "android-chain", byteCountMax: 16 * 1024, allocatedPerByte: 2000, seeds: chains
    ) { input in
        let chain = chain(of: input)
        var expected = AndroidExpectations(at: moment)
        if let world { expected.roots = [world.google.root] }
        let json = Explanation.androidAttestation(chain, expecting: expected).json
        let isRead = (try? JSONValue.parse(json.span, byteCountMax: 1 << 20, depthMax: 16)) != nil
        // JSON's own reader takes no NUL, which a package may have in its name.
        let hasNUL = String(decoding: json, as: UTF8.self).contains("\\u0000")
        try FuzzFinding.require(isRead || hasNUL, "an explanation that is no JSON")
        _ = AndroidChainInput.chain(input)
        guard let world else { return }
        for phone in world.phones {
            var count = 0
            let verified = try? verifier(world).verify(
                chain: chain, challenge: challenge, keyID: phone.keyID, revocations: nil,
                at: moment, signatureCheckCount: &count)
            try FuzzFinding.require(
                count < AndroidAttestationVerifier.certificateCounts.upperBound,
                "a chain that costs \(count) checks of signatures")
            guard let verified else { continue }
            try FuzzFinding.require(
                verified.publicKey == phone.publicKey && verified.app == app
                    && verified.securityLevel == phone.profile.securityLevel
                    && verified.osPatchLevel == phone.profile.osPatchLevel
                    && verified.attestationSerial.hex.hasPrefix("5a"),
                "a forged attestation of an Android key")
        }
    }

    /// The extension that describes an Android key, the identity of apps, and what servers add. The
    /// strict reading is the lax one but for the order of tags.
    static let keyDescription = FuzzTarget("key-description", seeds: descriptions) { input in
        _ = AttestationApplicationID(parsing: input.span)
        _ = try? ProvisioningInfo(parsing: input.span)
        guard let description = try? KeyDescription(inAnyOrder: input.span) else {
            let strict = try? KeyDescription(parsing: input.span)
            try FuzzFinding.require(strict == nil, "the strict reading takes more")
            return
        }
        let strict = try? KeyDescription(parsing: input.span)
        try FuzzFinding.requireEqual(
            strict, description.hasAscendingTags ? description : nil, "another strict reading")
    }

    /// A list of revoked certificates. Each of its serial numbers is found again.
    static let revocationList = FuzzTarget("revocation-list") { input in
        guard let list = try? RevocationList(parsing: input.span) else { return }
        try FuzzFinding.require(
            list.count + list.ignoredCount <= RevocationList.entryCountMax, "too many entries")
        let value = try? JSONValue.parse(
            input.span, byteCountMax: RevocationList.byteCountMax, depthMax: 16)
        for (serial, entry) in value?["entries"]?.objectValue ?? [:] {
            let isListed = entry["status"]?.stringValue.flatMap(RevocationList.Status.init) != nil
            guard isListed, let number = CertificateSerial(hex: serial) else { continue }
            try FuzzFinding.require(
                list.status(of: number) != nil, "a serial number that is not found again")
        }
    }

    // MARK: simulated phones

    private struct World: Sendable {
        let google: SimulatedGoogle
        let phones: [SimulatedPhone]
    }

    /// Early in 2026.
    private static let moment: Int64 = 1_770_000_000
    private static let challenge = Array("challenge".utf8)
    private static let digest = Bytes32(word0: 1, word1: 2, word2: 3, word3: 4)
    private static let app = AppIdentity(
        android: "com.example.app", environments: [.production],
        demands: AndroidDemands(signingDigests: [digest]))

    private static let world: World? = {
        guard let google = try? SimulatedGoogle(around: moment) else { return nil }
        var phones: [SimulatedPhone] = []
        for level in [AndroidSecurityLevel.trustedEnvironment, .strongBox] {
            var profile = PhoneProfile(package: app.id, signingDigest: digest)
            profile.securityLevel = level
            profile.provisioning = level == .strongBox ? .remote : .factory
            if let phone = try? SimulatedPhone(profile) { phones.append(phone) }
        }
        return World(google: google, phones: phones)
    }()

    private static func verifier(_ world: World) -> AndroidAttestationVerifier {
        AndroidAttestationVerifier(
            roots: [world.google.root], apps: [app], clockSkewSeconds: 0)
    }

    private static func chain(of input: [UInt8]) -> [[UInt8]] {
        var reader = ByteReader(input.span)
        var chain: [[UInt8]] = []
        while let byteCount = reader.readInteger(byteCount: 2),
            let der = reader.readSpan(byteCount: Int(byteCount))
        {
            chain.append(der.array)
        }
        return chain
    }

    private static func chains() throws -> [[UInt8]] {
        guard let world else { return [] }
        return try world.phones.map { phone in
            try phone.attestation(challenge: challenge, by: world.google, at: moment).flatMap {
                [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0
            }
        }
    }

    private static func descriptions() -> [[UInt8]] {
        (world?.phones ?? []).map { $0.keyDescription(challenge: challenge, at: moment) }
    }
}
