import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import CBOR
import Crypto
import Testing

private let digest = SHA256.hash(Array("client data".utf8))

@Suite("Simulated assertions")
struct SimulatedAssertionTests {}

extension SimulatedAssertionTests {
    private func verify(
        _ object: [UInt8], of device: SimulatedDevice, rpIDHash: Bytes32? = nil
    ) throws -> Result<VerifiedAssertion, AssertionFailure> {
        var verifier = try AssertionVerifier()
        let app = SHA256.hash(Array(device.appID.utf8))
        do throws(AssertionFailure) {
            return .success(
                try verifier.verify(
                    object.span, clientDataHash: digest, publicKey: device.publicKey,
                    rpIDHash: rpIDHash ?? app))
        } catch {
            return .failure(error)
        }
    }

    private func code(_ result: Result<VerifiedAssertion, AssertionFailure>) -> String? {
        if case .failure(let failure) = result { failure.code } else { nil }
    }

    @Test("of every system are accepted for what they are", arguments: SimulatedSystem.allCases)
    func valid(system: SimulatedSystem) throws {
        let device = try SimulatedDevice(
            appID: simulatedAppID, system: system, bundleVersion: "12")
        for counter in 1...3 as ClosedRange<UInt32> {
            let object = try device.assert(clientDataHash: digest.array)
            let verified = try verify(object, of: device).get()
            #expect(verified.counter == counter)
            let hasMap = system.rawValue.contains("OS27")
            #expect(verified.extensions?.bundleVersion == (hasMap ? "12" : nil))
            #expect(verified.extensions?.validationCategory == (hasMap ? 4 : nil))
        }
    }

    @Test(
        "with one fault are refused for exactly that", arguments: AssertionFault.allCases,
        SimulatedSystem.allCases)
    func faults(fault: AssertionFault, system: SimulatedSystem) throws {
        let device = try SimulatedDevice(appID: simulatedAppID, system: system)
        let object = try device.assert(clientDataHash: digest.array, fault: fault)
        let result = try verify(object, of: device)
        #expect(code(result) == fault.code, "\(result)")
    }

    @Test("cut to any length are malformed, and trap nothing")
    func short() throws {
        let device = try SimulatedDevice(appID: simulatedAppID, system: .iOS27)
        for byteCount in 0...99 {
            let object = try device.assert(
                clientDataHash: digest.array, authenticatorDataByteCount: byteCount)
            let isWhole = byteCount == 37 || byteCount == 99
            #expect(
                code(try verify(object, of: device)) == (isWhole ? nil : "malformed"),
                "\(byteCount) bytes")
        }
    }

    @Test("carry their counter unsigned", arguments: [0, 1, 1 << 31, UInt32.max - 1, .max])
    func counters(counter: UInt32) throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let object = try device.assert(clientDataHash: digest.array, counter: counter)
        #expect(try verify(object, of: device).get().counter == counter)
    }

    @Test("of another app of the same device are refused")
    func otherApp() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let object = try device.assert(clientDataHash: digest.array)
        let other = SHA256.hash(Array("ABCDE12345.com.example.other".utf8))
        #expect(try verify(object, of: device, rpIDHash: other) == .failure(.appMismatch))
    }

    @Test("of another device are refused")
    func otherDevice() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let other = try SimulatedDevice(appID: simulatedAppID)
        let object = try device.assert(clientDataHash: digest.array)
        #expect(try verify(object, of: other) == .failure(.signatureInvalid))
    }

    @Test("may carry members that nobody signed, with no effect")
    func unknownMembers() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let object = try device.assert(clientDataHash: digest.array)
        let limits = CBORLimits(byteCountMax: 4096, depthMax: 4)
        guard case .map(var entries) = try CBORValue.parse(object.span, limits: limits) else {
            Issue.record("not a map")
            return
        }
        entries.insert(.init(.text("cdHash"), .bytes([1])), at: 0)
        entries.append(.init(.integer(7), .array([.null])))
        let verified = try verify(CBORValue.map(entries).encoded, of: device).get()
        #expect(verified.counter == 1)
    }

    @Test("damaged at random are refused, and trap nothing", arguments: SimulatedSystem.allCases)
    func damaged(system: SimulatedSystem) throws {
        var generator = SplitMix64(state: 0xA55E)
        let device = try SimulatedDevice(appID: simulatedAppID, system: system)
        let whole = try device.assert(clientDataHash: digest.array)
        for _ in 0..<1000 {
            let object = generator.damage(whole)
            guard case .success(let verified) = try verify(object, of: device) else { continue }
            #expect(object == whole)
            #expect(verified.counter == 1)
        }
    }

    @Test(
        "explained give the verifier's verdict and reason",
        arguments: [nil] + AssertionFault.allCases.map(Optional.some))
    func explained(fault: AssertionFault?) throws {
        let device = try SimulatedDevice(appID: simulatedAppID, system: .iOS27)
        let object = try device.assert(clientDataHash: digest.array, fault: fault)
        var expected = Expectations(at: simulatedNow)
        expected.clientData = Array("client data".utf8)
        expected.publicKey = device.publicKey
        expected.appID = device.appID
        let explanation = Explanation.assertion(object, expecting: expected)
        #expect(explanation.code == fault?.code ?? "ok", "\(explanation.text)")
    }

    @Test("sign requests in the header shape, as the gateway compares them")
    func headerShape() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let body = Array("{}".utf8)
        let signed = try device.sign(
            method: "POST", path: "/a b", query: "x=1", body: body, challenge: "token",
            keyIDPlace: .clientData)
        #expect(
            signed.headers.map(\.name) == ["X-App-Attest-Assertion", "X-App-Attest-Client-Data"])
        let clientData = try #require(Base64.decode(signed.headers[1].value))
        let assertion = try #require(Base64.decode(signed.headers[0].value))
        var verifier = try AssertionVerifier()
        let verified = try verifier.verify(
            assertion.span, clientDataHash: SHA256.hash(clientData),
            publicKey: device.publicKey, rpIDHash: SHA256.hash(Array(device.appID.utf8)))
        #expect(verified.counter == 1)
        let data = try RequestClientData(parsing: clientData.span, byteCountMax: 1024)
        #expect(data.keyID == device.keyID)
        #expect(data.challenge?.array == Array("token".utf8))
        let method = Array("POST".utf8)
        let target = Array("/a%20b?x=1".utf8)
        let mismatch = data.check(
            method: method.span, target: target.span, bodyDigest: SHA256.hash(body))
        #expect(mismatch == nil)
    }

    @Test("sign requests in the body shape, with older samples' headers too")
    func bodyShape() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let body = Array(#"{"challenge":"token"}"#.utf8)
        let signed = try device.sign(body: body, names: .older)
        #expect(
            signed.headers.map(\.name) == ["X-App-Assertion", "X-Client-Data-Hash", "X-Key-Id"])
        #expect(signed.headers[1].value == Base64.encode(SHA256.hash(body).array))
        #expect(signed.headers[2].value == device.keyID.base64)
        #expect(signed.clientData == body)
    }
}
