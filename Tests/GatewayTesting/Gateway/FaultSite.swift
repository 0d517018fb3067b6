public import AndroidAttestationTesting
public import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import JSON

/// What the tests of faults have around a gateway: an Apple and a Google of their own, an upstream
/// that records everything, and one directory for all files.
public final class FaultSite {
    public let apple: SimulatedApple
    public let google: SimulatedGoogle
    public let upstream: RecordingUpstream
    public let directory: ScratchDirectory
    /// One route for each kind of replay protection, and one without any.
    public var configuration: GatewayConfiguration

    /// `admitsPhones`: the operator has an app for Android, too, and each route takes both.
    public init(
        counters: String = "embedded", upstream: RecordingUpstream? = nil,
        admitsPhones: Bool = false
    ) throws {
        let now = Int64(Date().timeIntervalSince1970)
        apple = try SimulatedApple(around: now)
        google = try SimulatedGoogle(around: now)
        self.upstream = try upstream ?? RecordingUpstream()
        directory = try ScratchDirectory()
        let root = try directory.write(try apple.root.pem(), to: "root.pem")
        configuration = GatewayConfiguration(
            upstreamPort: self.upstream.port,
            routes: [
                Self.route("strict", "replay: strict"),
                Self.route("window", "replay: { window: 64 }"),
                Self.route("durable", "challenge: off, replay: durable"),
                Self.route("body", "client_data: body, challenge: off, replay: durable"),
                .init("open", path: "/open/*"),
            ])
        configuration.counters = counters
        configuration.extraRootPaths = [root]
        if admitsPhones {
            configuration.admitPhones(root: try directory.write(google.rootPEM, to: "android.pem"))
        }
    }

    public convenience init(redis: RedisServer) throws {
        try self.init(counters: redis.counters)
    }

    private static func route(_ name: String, _ attest: String) -> GatewayConfiguration.Route {
        .init(name, path: "/\(name)/*", attest: "mode: enforce, \(attest)")
    }

    /// Another gateway on the same files.
    public func start() throws -> GatewayProcess {
        try GatewayProcess(configuration, directory: directory)
    }

    public func device() throws -> SimulatedDevice {
        try SimulatedDevice(appID: GatewayConfiguration.appID)
    }

    /// A device whose key the gateway knows.
    public func enrolledDevice(at gateway: GatewayProcess) throws -> SimulatedDevice {
        let device = try device()
        let answer = try enrol(device, at: gateway)
        guard answer.status == 200 else {
            throw FaultSiteError("enrolment: \(answer.startLine) \(answer.bodyText)")
        }
        return device
    }

    /// A device of each platform whose keys the gateway knows.
    public func enrolledDevices(at gateway: GatewayProcess) throws -> [TestDevice] {
        let phone = try SimulatedPhone.ofTests()
        let answer = try gateway.exchange(
            "POST", "/attest/verify",
            body: phone.enrolmentBody(
                challenge: gateway.challenge("/attest/challenge"), by: google))
        guard answer.status == 200 else {
            throw FaultSiteError("enrolment: \(answer.startLine) \(answer.bodyText)")
        }
        return [.apple(try enrolledDevice(at: gateway)), .android(phone)]
    }

    public func enrol(_ device: SimulatedDevice, at gateway: GatewayProcess) throws -> HTTPMessage {
        try gateway.exchange("POST", "/attest/verify", body: try attestation(device, gateway))
    }

    /// The body of `POST /attest/verify`.
    public func attestation(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws -> [UInt8]
    {
        try attestation(device, challenge: try gateway.challenge("/attest/challenge"))
    }

    public func attestation(_ device: SimulatedDevice, challenge: String) throws -> [UInt8] {
        try Self.attestation(device, challenge: challenge, by: apple)
    }

    public static func attestation(
        _ device: SimulatedDevice, challenge: String, by apple: SimulatedApple,
        receipt: ReceiptForm = .genuine
    ) throws -> [UInt8] {
        let object = try device.attest(
            clientDataHash: SHA256.hash(Array(challenge.utf8)).array, by: apple,
            at: Int64(Date().timeIntervalSince1970), receipt: receipt)
        return attestationBody(
            keyID: device.keyID.base64, attestation: Base64.encode(object), challenge: challenge)
    }

    public static func attestationBody(
        keyID: String, attestation: String, challenge: String
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("key_id", string: keyID)
        writer.member("attestation", string: attestation)
        writer.member("challenge", string: challenge)
        writer.endObject()
        return writer.finish().readable.array
    }

    /// The bodies of signed requests that reached the upstream, each as often as it did.
    public var seenBodies: [String: Int] {
        upstream.requests.reduce(into: [:]) { seen, request in
            guard !request.body.isEmpty else { return }
            seen[request.message.bodyText, default: 0] += 1
        }
    }
}

public struct FaultSiteError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// One signed request: its body is unlike that of any other, so that the upstream's record tells
/// which assertions were let through.
public struct SignedCall: Sendable {
    public let method: String
    public let target: String
    public let fields: [(String, String)]
    public let body: [UInt8]

    public init(method: String, target: String, fields: [(String, String)], body: [UInt8]) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    public func send(on client: RawClient) throws {
        try client.send(method, target, fields: fields, body: body)
    }

    public func exchange(on client: RawClient) throws -> HTTPMessage {
        try client.exchange(method, target, fields: fields, body: body)
    }

    /// On a connection of its own.
    public func exchange(with gateway: GatewayProcess) throws -> HTTPMessage {
        try exchange(on: try gateway.connect())
    }
}

extension SimulatedDevice {
    /// A signed request to one of the routes of a ``FaultSite``.
    public func call(_ route: String, challenge: String? = nil) throws -> SignedCall {
        try TestDevice.apple(self).call(route, challenge: challenge)
    }

    /// A signed request with a fresh challenge of `gateway`.
    public func call(_ route: String, at gateway: GatewayProcess) throws -> SignedCall {
        try call(route, challenge: try gateway.challenge())
    }
}

extension GatewayProcess {
    /// A fresh challenge, waiting until the counter store was reached for the first time.
    public func challenge(_ target: String = "/assert/challenge") throws -> String {
        let answer = try poll { client in
            let answer = try client.exchange("GET", target)
            return answer.status == 503 ? nil : answer
        }
        guard answer.status == 200 else {
            throw FaultSiteError("no challenge: \(answer.startLine) \(answer.bodyText)")
        }
        return answer.bodyText
    }

    /// `count` of them, over one connection.
    public func challenges(_ count: Int) throws -> [String] {
        _ = try challenge()
        let client = try connect()
        return try (0..<count).map { _ in
            try client.exchange("GET", "/assert/challenge").bodyText
        }
    }

    /// Asks until there is a result, where no event tells that there will be one.
    public func poll<Result>(_ body: (RawClient) throws -> Result?) throws -> Result {
        let limit = ChildProcess.deadline
        var client = try connect()
        while Date() < limit {
            if let result = try? body(client) { return result }
            _ = Foundation.poll(nil, 0, 10)
            client = try connect()
        }
        throw FaultSiteError("the gateway did not get there in \(ChildProcess.patienceSeconds) s")
    }

    /// That the process is the same one as when it was started, and unharmed.
    public var isUnharmed: Bool { current.exitStatus == nil && alarms.isEmpty }
}

/// Numbers that are the same in each run.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    public init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// xorshift64*, by Marsaglia and Vigna.
    public mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
