import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import JSON

/// A simulated device's connection to a gateway: does what an app does with `URLSession`.
struct DeviceClient {
    private let address: SocketAddress
    let connection: HTTPConnection
    /// The gateway's setting `endpoints.base`.
    let base: String

    /// - Parameters:
    ///   - host: The value of `Host`; nil for the address.
    ///   - check: What the gateway's certificate must be; nil without TLS.
    init(
        _ address: SocketAddress, host: String? = nil, check: GatewayCheck? = nil,
        base: String = "/"
    ) throws {
        self.address = address
        connection = try HTTPConnection(address, host: host, check: check)
        self.base = base
    }

    /// A challenge for an assertion.
    func assertionChallenge() throws -> String {
        try challenge(target: base + "assert/challenge")
    }

    /// A challenge for an attestation: of this key, which gives it a long life, or of any.
    func attestationChallenge(for keyID: KeyID?) throws -> String {
        let query = keyID.map { "?key_id=" + Base64.encodeURL($0.digest.array) } ?? ""
        return try challenge(target: base + "attest/challenge" + query)
    }

    private func challenge(target: String) throws -> String {
        let answer = try connection.exchange(HTTPRequest(method: "GET", target: target))
        guard answer.status == 200 else {
            throw LabError("no challenge: \(answer.status) \(answer.code ?? answer.text)")
        }
        return answer.text
    }

    /// The body of `POST /attest/verify`. `ticket`: the one that an earlier enrolment was answered
    /// with.
    static func enrolment(
        of device: SimulatedDevice, by apple: SimulatedApple, challenge: String, base: String = "/",
        ticket: String? = nil, fault: AttestationFault? = nil
    ) throws -> HTTPRequest {
        let attestation = try device.attest(
            clientDataHash: SHA256.hash(Array(challenge.utf8)).array, by: apple,
            at: WallClock.now().seconds, fault: fault)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("key_id", string: device.keyID.base64)
        writer.member("attestation", string: Base64.encode(attestation))
        writer.member("challenge", string: challenge)
        if let ticket { writer.member("installation", string: ticket) }
        writer.endObject()
        return posting(writer.finish(), base)
    }

    /// The body of `POST /attest/verify` for a phone's key.
    static func enrolment(
        of phone: SimulatedPhone, by google: SimulatedGoogle, challenge: String,
        base: String = "/", ticket: String? = nil, fault: AndroidFault? = nil
    ) throws -> HTTPRequest {
        let chain = try phone.attestation(
            challenge: SimulatedPhone.attestationChallenge(of: Array(challenge.utf8)), by: google,
            at: WallClock.now().seconds, fault: fault)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("platform", string: LabPlatform.android.rawValue)
        writer.member("key_id", string: phone.keyID.base64)
        writer.beginArray("chain")
        for certificate in chain { writer.element(string: Base64.encode(certificate)) }
        writer.endArray()
        writer.member("challenge", string: challenge)
        if let ticket { writer.member("installation", string: ticket) }
        writer.endObject()
        return posting(writer.finish(), base)
    }

    private static func posting(_ body: borrowing ByteBuffer, _ base: String) -> HTTPRequest {
        HTTPRequest(
            method: "POST", target: base + "attest/verify",
            fields: [("Content-Type", "application/json")], body: body.readable.array)
    }

    func send(_ request: HTTPRequest) throws -> HTTPAnswer { try connection.exchange(request) }

    /// Sends a request on a connection of its own, and closes that once the body of the answer has
    /// begun.
    func leave(_ request: HTTPRequest) throws -> HTTPAnswer {
        try HTTPConnection(address).begin(request)
    }
}

/// The bytes that a request's assertion signs.
enum RequestShape: String, CaseIterable {
    case header
    case body
}

extension SimulatedDevice {
    /// Adds the proof to a request, whose path and query are signed as they are sent.
    func signing(
        _ request: HTTPRequest, challenge: String, shape: RequestShape = .header,
        keyIDPlace: KeyIDPlace = .header, names: RequestHeaderNames = RequestHeaderNames(),
        fault: AssertionFault? = nil
    ) throws -> HTTPRequest {
        let signed: SignedRequest
        switch shape {
        case .header:
            signed = try sign(
                method: request.method, path: String(request.path), query: request.query,
                body: request.body, challenge: challenge, keyIDPlace: keyIDPlace, names: names,
                fault: fault)
        case .body:
            signed = try sign(
                body: request.body, keyIDPlace: keyIDPlace, names: names, fault: fault)
        }
        var request = request
        request.fields += signed.headers.map { ($0.name, $0.value) }
        return request
    }
}
