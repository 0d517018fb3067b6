import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Testing

@Suite("The security of a Mac")
struct MacSecurityTests {}

extension MacSecurityTests {
    /// SHA-256 of the list that a Mac with System Integrity Protection and Full Security writes.
    private static let full = Bytes32(
        Hex.decode("4de4539b20e1d672b3b45a6f9c67c48db560c79a556f91b0fb8c96dd32d0b165") ?? [])

    private func security(
        _ platform: String?, hasList: Bool = true, _ digest: Bytes32?
    ) -> MacSecurity {
        MacSecurity(platform: platform, hasAccessControl: hasList, digest: digest)
    }

    @Test("is compared where the device may be a Mac, and nowhere else")
    func compared() throws {
        let full = try #require(Self.full)
        let other = SHA256.hash([1])
        #expect(security("macosx", full) == .full)
        #expect(security("macosx", other) == .reduced)
        #expect(security("macosx", nil) == .reduced)
        #expect(security("macosx", hasList: false, nil) == .reduced)
        // Whatever it is, it is none of those that are no Mac.
        for platform in ["macos", "bridgeos", "", "iPhoneOS"] {
            #expect(security(platform, full) == .full)
            #expect(security(platform, other) == .reduced)
        }
        for platform in ["iphoneos", "appletvos", "watchos", "xros"] {
            for digest in [full, other, nil] {
                #expect(security(platform, digest) == .notMac)
            }
        }
        // Before iOS 18 the leaf names no platform, and before iOS 26.2 it has no list.
        #expect(security(nil, hasList: false, nil) == .notMac)
        #expect(security(nil, other) == .reduced)
        #expect(security(nil, nil) == .reduced)
        #expect(security(nil, full) == .full)
    }

    @Test(
        "refuses a Mac where the app demands it, and no phone", arguments: SimulatedSystem.allCases)
    func verified(system: SimulatedSystem) throws {
        let apple = try SimulatedAttestationTests.shared.get()
        let device = try SimulatedDevice(appID: simulatedAppID, system: system)
        let hash = SHA256.hash(Array("challenge".utf8)).array
        let object = try device.attest(clientDataHash: hash, by: apple, at: simulatedNow)
        func verify(_ requires: Bool) throws(AttestationFailure) -> MacSecurity {
            let app = AppIdentity(
                id: simulatedAppID, environments: [.production], requiresMacFullSecurity: requires)
            return try AttestationVerifier(
                roots: [apple.root], apps: [app], clockSkewSeconds: 60
            ).verify(
                object.span, clientDataHash: hash, keyID: device.keyID, at: simulatedNow
            ).macSecurity
        }
        let isMac = system == .macOS27
        #expect(try verify(false) == (isMac ? .reduced : .notMac))
        guard isMac else {
            #expect(try verify(true) == .notMac)
            return
        }
        #expect(throws: AttestationFailure.macSecurityReduced) { _ = try verify(true) }
        #expect(AttestationFailure.allCodes.contains(AttestationFailure.macSecurityReduced.code))
    }

    @Test("real phones are no Macs", .enabled(if: Vectors.arePresent, Vectors.absent))
    func vectors() throws {
        for vector in Vectors.attestations where vector.isAccepted {
            let explanation = Explanation.attestation(
                vector.objectBytes, expecting: Expectations(at: vector.seconds))
            let text = String(decoding: explanation.json, as: UTF8.self)
            #expect(text.contains(#""mac_security":"not_a_mac""#), "\(vector.id)")
        }
    }
}
