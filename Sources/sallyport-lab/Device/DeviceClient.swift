import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import JSON

/// A simulated device's connection to a gateway: does what an app does with `URLSession`.
struct DeviceClient {
    let connection: HTTPConnection
    /// The gateway's setting `endpoints.base`.
    let base: String

    init(_ address: SocketAddress, base: String = "/") throws {
        connection = try HTTPConnection(address)
        self.base = base
    }

    /// A challenge for an assertion.
    func assertionChallenge() throws -> String {
        try challenge(target: base + "assert/challenge")
    }

    /// A long-lived challenge for this key's attestation.
    func attestationChallenge(for device: SimulatedDevice) throws -> String {
        let keyID = Base64.encodeURL(device.keyID.digest.array)
        return try challenge(target: base + "attest/challenge?key_id=" + keyID)
    }

    private func challenge(target: String) throws -> String {
        let answer = try connection.exchange(HTTPRequest(method: "GET", target: target))
        guard answer.status == 200 else {
            throw LabError("no challenge: \(answer.status) \(answer.code ?? answer.text)")
        }
        return answer.text
    }

    /// The body of `POST /attest/verify`.
    static func enrolment(
        of device: SimulatedDevice, by apple: SimulatedApple, challenge: String, base: String = "/",
        fault: AttestationFault? = nil
    ) throws -> HTTPRequest {
        let attestation = try device.attest(
            clientDataHash: SHA256.hash(Array(challenge.utf8)).array, by: apple,
            at: WallClock.now().seconds, fault: fault)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("key_id", string: device.keyID.base64)
        writer.member("attestation", string: Base64.encode(attestation))
        writer.member("challenge", string: challenge)
        writer.endObject()
        let body = writer.finish()
        return HTTPRequest(
            method: "POST", target: base + "attest/verify",
            fields: [("Content-Type", "application/json")], body: body.readable.array)
    }

    func send(_ request: HTTPRequest) throws -> HTTPAnswer { try connection.exchange(request) }
}

/// The bytes that a request's assertion signs.
enum RequestShape: String, CaseIterable {
    case header
    case body
}

extension SimulatedDevice {
    /// Adds the proof to a request. The path is signed without its query, as in apps.
    func signing(
        _ request: HTTPRequest, challenge: String, shape: RequestShape = .header,
        keyIDPlace: KeyIDPlace = .header, names: RequestHeaderNames = RequestHeaderNames(),
        fault: AssertionFault? = nil
    ) throws -> HTTPRequest {
        let signed: SignedRequest
        switch shape {
        case .header:
            let path = request.target.prefix { $0 != "?" }
            signed = try sign(
                method: request.method, path: String(path), body: request.body,
                challenge: challenge, keyIDPlace: keyIDPlace, names: names, fault: fault)
        case .body:
            signed = try sign(
                body: request.body, keyIDPlace: keyIDPlace, names: names, fault: fault)
        }
        var request = request
        request.fields += signed.headers.map { ($0.name, $0.value) }
        return request
    }
}
