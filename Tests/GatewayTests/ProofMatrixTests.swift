import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import GatewayTokens
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// All that is signed or sealed, in every place but its own.
@Suite("Bytes made for one thing")
struct ProofMatrixTests {}

extension ProofMatrixTests {
    // MARK: client data

    private enum Shape: String, CaseIterable {
        case header = "/attested/x"
        case headerWithoutChallenge = "/unchallenged/x"
        case body = "/body/x"
        case bodyWithoutChallenge = "/bare/x"

        var isHeader: Bool { self == .header || self == .headerWithoutChallenge }
    }

    private static let payload = Array(#"{"amount":1}"#.utf8)

    private static func gateway() throws -> GatewayUnderTest {
        let key = try P256PrivateKey.generate()
        return try GatewayUnderTest { settings in
            settings.identity.keys = [IdentitySettings.KeyFile(path: "key.pem", key: key)]
            settings.upstreams[0].identity = UpstreamIdentity(audience: ["api"])
            settings.routes += [
                GatewayUnderTest.route("bare", "/bare/") {
                    $0.mode = .enforce
                    $0.clientData = .body
                    $0.challenge = .off
                    $0.replay = .durable
                    $0.keyIDMember = "keyId"
                },
                GatewayUnderTest.route("token", "/token/") {
                    $0.mode = .enforce
                    $0.accept = .token
                },
                GatewayUnderTest.route("developer", "/developer/") {
                    $0.mode = .enforce
                    $0.accept = .developer
                },
            ]
        }
    }

    /// What an app signs in this shape, for `POST` of its path.
    private func clientData(_ shape: Shape, _ device: EnrolledDevice) throws -> [UInt8] {
        let challenge = try device.fetchChallenge()
        let digest = Base64.encode(SHA256.hash(Self.payload).array)
        let request = #""method":"POST","path":"\#(shape.rawValue)","bodySHA256":"\#(digest)""#
        let text =
            switch shape {
            case .header: #"{"challenge":"\#(challenge)",\#(request)}"#
            case .headerWithoutChallenge: "{\(request)}"
            case .body: #"{"challenge":"\#(challenge)","amount":1}"#
            case .bodyWithoutChallenge: #"{"amount":1}"#
            }
        return Array(text.utf8)
    }

    private func present(
        _ clientData: [UInt8], as shape: Shape, _ device: EnrolledDevice
    ) throws -> HTTPMessage {
        let assertion = try device.device.assert(clientDataHash: SHA256.hash(clientData).array)
        var fields = [
            ("X-App-Attest-Assertion", Base64.encode(assertion)),
            ("X-App-Attest-Key-Id", device.device.keyID.base64),
        ]
        if shape.isHeader {
            fields.append(("X-App-Attest-Client-Data", Base64.encode(clientData)))
        }
        return try device.send(
            "POST", shape.rawValue, fields: fields,
            body: shape.isHeader ? Self.payload : clientData)
    }

    @Test("client data of one shape is refused in every other")
    func shapes() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        for made in Shape.allCases {
            for used in Shape.allCases {
                let answer = try present(try clientData(made, device), as: used, device)
                // A challenge that is not asked for is spent all the same.
                let isTaken = made == used || made == .body && used == .bodyWithoutChallenge
                #expect(answer.status == (isTaken ? 200 : 401), "\(made) as \(used)")
            }
        }
        gateway.stop()
        let codes = Set(gateway.outcomes(of: "bare").keys)
        #expect(codes == ["verified ok", "refused assertion_malformed"])
    }

    @Test("client data of a header is no body, whatever else is in it")
    func headerAsBody() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let ping = #""method":"GET","path":"/api/ping","bodySHA256":"x""#
        for others in ["", #","keyId":"\#(device.device.keyID.base64)""#, #","amount":[1,{}]"#] {
            for shape in [Shape.body, .bodyWithoutChallenge] {
                let challenge = #""challenge":"\#(try device.fetchChallenge())""#
                let text = "{\(ping),\(challenge)\(others)}"
                let answer = try present(Array(text.utf8), as: shape, device)
                #expect(answer.code == "assertion_malformed", "\(shape) \(others)")
            }
        }
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("a signed key id that is none never gives way to another")
    func malformedKeyID() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        let own = device.device.keyID.base64
        for keyID in [
            #""x""#, #""""#, "null", "7", "[]", #""\#(own.dropLast(4))""#, #""\#(own)AA""#,
        ] {
            for shape in [Shape.body, .bodyWithoutChallenge] {
                let challenge = try device.fetchChallenge()
                let text = #"{"challenge":"\#(challenge)","keyId":\#(keyID)}"#
                let answer = try present(Array(text.utf8), as: shape, device)
                #expect(answer.code == "assertion_malformed", "\(shape) \(keyID)")
            }
        }
        #expect(gateway.upstream.requests.isEmpty)
    }

    // MARK: challenges and tokens

    private enum Value: CaseIterable {
        case assertionChallenge, nextChallenge, attestationChallenge, boundAttestationChallenge
        case sessionToken, developerToken, identityToken, deviceToken, keyID
    }

    private enum Slot: CaseIterable {
        case headerChallenge, bodyChallenge, attestation, sessionToken, developerToken

        func takes(_ value: Value) -> Bool {
            switch self {
            case .headerChallenge, .bodyChallenge:
                value == .assertionChallenge || value == .nextChallenge
            case .attestation:
                value == .attestationChallenge || value == .boundAttestationChallenge
            case .sessionToken: value == .sessionToken
            case .developerToken: value == .developerToken
            }
        }
    }

    private func make(_ value: Value, _ device: EnrolledDevice) throws -> String {
        switch value {
        case .assertionChallenge: return try device.fetchChallenge()
        case .nextChallenge:
            return try #require(try device.request("GET", "/attested/x")[challengeField])
        case .attestationChallenge: return try device.fetchChallenge("/attest/challenge")
        case .boundAttestationChallenge:
            return try device.fetchChallenge(
                "/attest/challenge?key_id=\(device.device.keyID.base64)")
        case .sessionToken:
            let answer = try device.request("POST", "/assert/token")
            return try #require(answer.member("token"))
        case .developerToken:
            let now = WallClock.now().seconds
            let developer = DeveloperToken(
                name: "ci", id: "0123456789abcdef", issuedAt: now, expiresAt: now + 60,
                audience: [], worth: .token)
            let sealer = try #require(DeveloperTokenSealer(keys: [GatewayUnderTest.challengeKey]))
            return String(decoding: sealer.token(of: developer), as: UTF8.self)
        case .identityToken:
            _ = try device.request("GET", "/attested/x")
            return try #require(device.gateway.upstream.requests.last?["X-Attest-Identity"])
        case .deviceToken: return Base64.encode(RandomBytes.bytes(2048))
        case .keyID: return device.device.keyID.base64
        }
    }

    private func use(
        _ value: String, _ slot: Slot, _ device: EnrolledDevice
    ) throws -> HTTPMessage {
        switch slot {
        case .headerChallenge:
            return try device.request("POST", "/attested/x", challenge: value)
        case .bodyChallenge:
            let body = Array(#"{"challenge":"\#(value)"}"#.utf8)
            return try present(body, as: .body, device)
        case .attestation: return try device.attest(challenge: value)
        case .sessionToken, .developerToken:
            let path = slot == .sessionToken ? "/token/x" : "/developer/x"
            return try device.send("GET", path, fields: [("X-App-Attest-Token", value)])
        }
    }

    @Test("a challenge or token of one kind is refused in the place of every other")
    func values() throws {
        let gateway = try Self.gateway()
        for slot in Slot.allCases {
            for value in Value.allCases {
                // A key each: an attestation enrols it.
                let device = try EnrolledDevice(gateway)
                let made = try make(value, device)
                let answer = try use(made, slot, device)
                #expect((answer.status == 200) == slot.takes(value), "\(value) as \(slot)")
            }
        }
    }
}
