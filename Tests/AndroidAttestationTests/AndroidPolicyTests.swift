import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Testing

@Suite("The policy of Android apps")
struct AndroidPolicyTests {}

extension AndroidPolicyTests {
    private static let bootKey = Bytes32(word0: 1, word1: 2, word2: 3, word3: 4)

    private static func verifier(
        _ demands: AndroidDemands, environments: Set<AttestEnvironment> = [.production]
    ) throws -> AndroidAttestationVerifier {
        try AndroidWorld.verifier([AndroidWorld.app(demands, environments: environments)])
    }

    private static func demands(
        _ level: AndroidSecurityLevel = .trustedEnvironment, bootKeys: [Bytes32] = [],
        patchAgeMaxDays: Int? = nil
    ) -> AndroidDemands {
        AndroidDemands(
            signingDigests: [androidDigest], securityLevel: level, bootKeys: bootKeys,
            patchAgeMaxDays: patchAgeMaxDays)
    }

    @Test("can ask for a StrongBox, and never for less than a TEE")
    func levels() throws {
        let strict = try Self.verifier(Self.demands(.strongBox))
        let tee = try Enrolment()
        let strongBox = try Enrolment { $0.securityLevel = .strongBox }
        #expect(
            try tee.failure(strict) == .securityLevel(.tooLow(.trustedEnvironment)))
        #expect(try strongBox.code(strict) == "ok")
        #expect(try strongBox.code() == "ok")
        let lax = try Self.verifier(Self.demands(.software))
        #expect(
            try Enrolment(fault: .softwareKey).failure(lax)
                == .securityLevel(.tooLow(.software)))
    }

    @Test("a StrongBox must be borne out by the chain, factory or remote")
    func strongBoxes() throws {
        for provisioning in PhoneProfile.Provisioning.allCases {
            let claimed = try Enrolment(fault: .strongBoxByClaim) {
                $0.provisioning = provisioning
            }
            #expect(try claimed.failure() == .securityLevel(.notConfirmed))
            let real = try Enrolment {
                $0.securityLevel = .strongBox
                $0.provisioning = provisioning
            }
            #expect(try real.code() == "ok")
        }
    }

    @Test("can allow boot keys of other systems, on locked phones alone")
    func bootKeys() throws {
        let open = try Self.verifier(Self.demands(bootKeys: [Self.bootKey]))
        func code(
            _ state: RootOfTrust.BootState, isLocked: Bool = true, key: Bytes32 = Self.bootKey
        ) throws -> String {
            try Enrolment {
                $0.bootState = state
                $0.isLocked = isLocked
                $0.bootKey = key
            }.code(open)
        }
        #expect(try code(.selfSigned) == "ok")
        #expect(try code(.verified, key: androidDigest) == "ok")
        #expect(try code(.selfSigned, key: androidDigest) == "verified_boot")
        #expect(try code(.selfSigned, isLocked: false) == "device_unlocked")
        #expect(try code(.unverified) == "verified_boot")
        #expect(try code(.failed) == "verified_boot")
        #expect(try code(.verified, isLocked: false) == "device_unlocked")
        #expect(
            try Enrolment { $0.bootState = .selfSigned }.failure() == .verifiedBoot(.selfSigned))
    }

    @Test("can ask for a patch level that is not too old")
    func patchLevels() throws {
        func code(_ level: Int64, days: Int?) throws -> String {
            try Enrolment { $0.osPatchLevel = level }.code(
                Self.verifier(Self.demands(patchAgeMaxDays: days)))
        }
        // It is the first of October.
        #expect(try code(202_609, days: 30) == "ok")
        #expect(try code(202_609, days: 29) == "patch_level")
        #expect(try code(202_610, days: 0) == "ok")
        #expect(try code(202_611, days: 0) == "ok")
        #expect(try code(202_510, days: 365) == "ok")
        #expect(try code(202_510, days: 364) == "patch_level")
        for unknown: Int64 in [0, 202_600, 202_613, 20_260_901, -1, 999_999_999] {
            #expect(try code(unknown, days: 10_000) == "patch_level", "\(unknown)")
            #expect(try code(unknown, days: nil) == "ok", "\(unknown)")
        }
    }

    @Test("every package and every certificate must be configured, and for the same app")
    func owners() throws {
        let second = "com.example.second"
        let otherDigest = Bytes32(word0: 7, word1: 7, word2: 7, word3: 7)
        let shared = try Enrolment { $0.packages = [second, androidPackage] }
        #expect(try shared.failure() == .package)
        let both = try AndroidWorld.verifier([AndroidWorld.app(), AndroidWorld.app(id: second)])
        #expect(try shared.verify(both).app.id == androidPackage)
        let turned = try AndroidWorld.verifier([AndroidWorld.app(id: second), AndroidWorld.app()])
        #expect(try shared.verify(turned).app.id == second)
        // The stricter demands of one of them count for the key that both may use.
        let strict = try AndroidWorld.verifier([
            AndroidWorld.app(), AndroidWorld.app(Self.demands(.strongBox), id: second),
        ])
        #expect(try shared.code(strict) == "security_level")
        let apart = try AndroidWorld.verifier([
            AndroidWorld.app(), AndroidWorld.app(AndroidDemands(signingDigests: []), id: second),
        ])
        #expect(try shared.failure(apart) == .signingDigest)

        let rotated = try Enrolment { $0.signingDigests = [androidDigest, otherDigest] }
        #expect(try rotated.failure() == .signingDigest)
        let wide = try Self.verifier(
            AndroidDemands(signingDigests: [otherDigest, androidDigest]))
        #expect(try rotated.code(wide) == "ok")
        #expect(try Enrolment().code(wide) == "ok")
    }

    @Test("a debug certificate belongs to an app of the development environment")
    func environments() throws {
        let debugDigest = Bytes32(word0: 9, word1: 9, word2: 9, word3: 9)
        let verifier = try AndroidWorld.verifier([
            AndroidWorld.app(),
            AndroidWorld.app(
                AndroidDemands(signingDigests: [debugDigest]), environments: [.development]),
        ])
        #expect(try Enrolment().verify(verifier).environment == .production)
        let debug = try Enrolment { $0.signingDigests = [debugDigest] }
        #expect(try debug.verify(verifier).environment == .development)
        #expect(try debug.failure() == .signingDigest)
        let either = try Self.verifier(
            Self.demands(), environments: [.production, .development])
        #expect(try Enrolment().verify(either).environment == .production)
    }

    @Test("an app without demands, or of another platform, takes no key")
    func otherPlatforms() throws {
        let enrolment = try Enrolment()
        let bare = AppIdentity(
            id: androidPackage, platform: .android, environments: [.production])
        #expect(try enrolment.failure(AndroidWorld.verifier([bare])) == .signingDigest)
        let other = AppIdentity(
            id: androidPackage, platform: PlatformName("apple"), environments: [.production],
            demands: Self.demands())
        #expect(other.androidDemands == nil)
        #expect(try enrolment.failure(AndroidWorld.verifier([other])) == .package)
        #expect(try enrolment.failure(AndroidWorld.verifier([])) == .package)
        #expect(
            try enrolment.failure(Self.verifier(AndroidDemands(signingDigests: [])))
                == .signingDigest)
    }

    @Test("package names have two or more parts")
    func packageNames() {
        for name in ["a.b", "com.example.app", "com.Example.app_2"] {
            #expect(AppIdentity.isAndroidPackageName(name), "\(name)")
        }
        for name in [
            "", "app", "com.", ".com", "com..app", "com.2app", "com.ex-ample", "com.é", "com. app",
            "a." + String(repeating: "b", count: 254),
        ] {
            #expect(!AppIdentity.isAndroidPackageName(name), "\(name)")
        }
    }

    @Test("demands are equal by their content")
    func equality() {
        #expect(AndroidWorld.app() == AndroidWorld.app())
        #expect(AndroidWorld.app() != AndroidWorld.app(Self.demands(.strongBox)))
        #expect(AndroidWorld.app().androidDemands == Self.demands())
        #expect(PlatformName.android.text == "android")
        #expect(AndroidSecurityLevel(name: "tee") == .trustedEnvironment)
        #expect(AndroidSecurityLevel(name: "strongbox") == .strongBox)
        #expect(AndroidSecurityLevel(name: "TEE") == nil)
    }
}
