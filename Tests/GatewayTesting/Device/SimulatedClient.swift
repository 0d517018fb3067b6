public import AppAttestTesting
import Attestation
import Bytes
import Crypto
public import Foundation
import JSON

/// An app on a simulated device: fetches challenges, enrols its key, sends asserted requests.
public final class SimulatedClient {
    /// Header fields in the order they are sent.
    public typealias Fields = [(String, String)]

    public let device: SimulatedDevice
    /// One connection for everything; replaced by ``connect()``.
    public private(set) var raw: RawClient
    private let gateway: GatewayProcess
    /// `endpoints.base`.
    public var base = "/"

    /// Talks to a gateway, which lives as long as this client; a new key where `device` is nil.
    public init(_ gateway: GatewayProcess, device: SimulatedDevice? = nil) throws {
        self.device = try device ?? SimulatedDevice(appID: GatewayConfiguration.appID)
        self.gateway = gateway
        raw = try gateway.connect()
    }

    /// A client whose new key the gateway has enrolled.
    public static func enrolled(
        _ gateway: GatewayProcess, device: SimulatedDevice? = nil
    ) throws -> SimulatedClient {
        let client = try SimulatedClient(gateway, device: device)
        let answer = try client.enrol()
        guard answer.status == 200 else {
            let log = gateway.current.text(on: .standardOutput)
            throw RawSocketError("not enrolled: \(answer.outcome)\n\(log)")
        }
        return client
    }

    public func connect() throws { raw = try gateway.connect() }

    // MARK: enrolment

    /// The body of `POST /attest/verify`.
    public func enrolmentBody(
        challenge: String, apple: SimulatedApple = TestApple.shared,
        fault: AttestationFault? = nil, at date: Date = Date()
    ) throws -> [UInt8] {
        let attestation = try device.attest(
            clientDataHash: SHA256.hash(Array(challenge.utf8)).array, by: apple,
            at: Int64(date.timeIntervalSince1970), fault: fault)
        return enrolmentBody(attestation: attestation, challenge: challenge)
    }

    public func enrolmentBody(attestation: [UInt8], challenge: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("key_id", string: device.keyID.base64)
        writer.member("attestation", string: Base64.encode(attestation))
        writer.member("challenge", string: challenge)
        writer.endObject()
        let buffer = writer.finish()
        return buffer.readable.array
    }

    /// A challenge for this key's attestation.
    public func attestationChallenge() throws -> String {
        let keyID = Base64.encodeURL(device.keyID.digest.array)
        return try token(base + "attest/challenge?key_id=" + keyID)
    }

    /// Enrols the key; the answer is the gateway's, whatever it is.
    @discardableResult
    public func enrol(fault: AttestationFault? = nil) throws -> HTTPMessage {
        try enrol(try enrolmentBody(challenge: attestationChallenge(), fault: fault))
    }

    @discardableResult
    public func enrol(_ body: [UInt8], fields: Fields = []) throws -> HTTPMessage {
        try raw.exchange(
            "POST", base + "attest/verify",
            fields: [("Content-Type", "application/json")] + fields, body: body)
    }

    // MARK: assertions

    /// A fresh challenge for an assertion.
    public func challenge() throws -> String { try token(base + "assert/challenge") }

    private func token(_ target: String) throws -> String {
        let answer = try raw.exchange("GET", target)
        guard answer.status == 200 else {
            throw RawSocketError("no challenge: \(answer.startLine) \(answer.bodyText)")
        }
        return answer.bodyText
    }

    /// What proves a request in the `header` shape. The path is signed without its query.
    public func signature(
        _ method: String, _ target: String, body: [UInt8] = [], challenge: String? = nil,
        path: String? = nil, query: String? = nil, keyIDPlace: KeyIDPlace = .header,
        names: RequestHeaderNames = RequestHeaderNames(), fault: AssertionFault? = nil
    ) throws -> Fields {
        let signedPath = path ?? String(target.prefix { $0 != "?" })
        let signed = try device.sign(
            method: method, path: signedPath, query: query, body: body,
            challenge: try challenge ?? self.challenge(), keyIDPlace: keyIDPlace, names: names,
            fault: fault)
        return signed.headers.map { ($0.name, $0.value) }
    }

    /// An asserted request and its answer.
    @discardableResult
    public func request(
        _ method: String, _ target: String, body: [UInt8] = [], challenge: String? = nil,
        fault: AssertionFault? = nil
    ) throws -> HTTPMessage {
        let fields = try signature(
            method, target, body: body, challenge: challenge, fault: fault)
        return try raw.exchange(method, target, fields: fields, body: body)
    }
}

extension HTTPMessage {
    /// The members of a refusal's problem document (RFC 9457); nil for other answers.
    private var problem: JSONValue? {
        guard self["Content-Type"] == "application/problem+json" else { return nil }
        return try? JSONValue.parse(body.span, byteCountMax: 1 << 16, depthMax: 8)
    }

    public var code: String? { problem?["code"]?.stringValue }
    public var action: String? { problem?["action"]?.stringValue }

    /// Status and, for a refusal, its code: `401 assertion_replayed`, `200`.
    public var outcome: String { code.map { "\(status) \($0)" } ?? "\(status)" }

    /// The challenge for the app's next request.
    public var nextChallenge: String? { self["X-App-Attest-Challenge"] }
}
