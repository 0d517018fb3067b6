import AppAttest
import AppAttestTesting
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON

/// What the tests of faults have around a gateway: an Apple of their own, an upstream that records
/// everything, and one directory for all files.
final class FaultSite {
    let apple: SimulatedApple
    let upstream: RecordingUpstream
    let directory: ScratchDirectory
    /// One route for each kind of replay protection, and one without any.
    var configuration: GatewayConfiguration

    init(counters: String = "embedded", upstream: RecordingUpstream? = nil) throws {
        apple = try SimulatedApple(around: Int64(Date().timeIntervalSince1970))
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
    }

    convenience init(redis: RedisServer) throws {
        try self.init(counters: "{ redis: \"\(redis.url)\" }")
    }

    private static func route(_ name: String, _ attest: String) -> GatewayConfiguration.Route {
        .init(name, path: "/\(name)/*", attest: "mode: enforce, \(attest)")
    }

    /// Another gateway on the same files.
    func start() throws -> GatewayProcess {
        try GatewayProcess(configuration, directory: directory)
    }

    func device() throws -> SimulatedDevice {
        try SimulatedDevice(appID: GatewayConfiguration.appID)
    }

    /// A device whose key the gateway knows.
    func enrolledDevice(at gateway: GatewayProcess) throws -> SimulatedDevice {
        let device = try device()
        let answer = try enrol(device, at: gateway)
        guard answer.status == 200 else {
            throw FaultSiteError("enrolment: \(answer.startLine) \(answer.bodyText)")
        }
        return device
    }

    func enrol(_ device: SimulatedDevice, at gateway: GatewayProcess) throws -> HTTPMessage {
        try gateway.exchange("POST", "/attest/verify", body: try attestation(device, gateway))
    }

    /// The body of `POST /attest/verify`.
    func attestation(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws -> [UInt8] {
        try attestation(device, challenge: try gateway.challenge("/attest/challenge"))
    }

    func attestation(_ device: SimulatedDevice, challenge: String) throws -> [UInt8] {
        try Self.attestation(device, challenge: challenge, by: apple)
    }

    static func attestation(
        _ device: SimulatedDevice, challenge: String, by apple: SimulatedApple
    ) throws -> [UInt8] {
        let object = try device.attest(
            clientDataHash: Array(challenge.utf8).sha256, by: apple,
            at: Int64(Date().timeIntervalSince1970))
        return attestationBody(
            keyID: device.keyID.base64, attestation: Base64.encode(object), challenge: challenge)
    }

    static func attestationBody(
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
    var seenBodies: [String: Int] {
        upstream.requests.reduce(into: [:]) { seen, request in
            guard !request.body.isEmpty else { return }
            seen[request.message.bodyText, default: 0] += 1
        }
    }
}

struct FaultSiteError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// One signed request: its body is unlike that of any other, so that the upstream's record tells
/// which assertions were let through.
struct SignedCall: Sendable {
    let method: String
    let target: String
    let fields: [(String, String)]
    let body: [UInt8]

    var bodyText: String { String(decoding: body, as: UTF8.self) }

    func send(on client: RawClient) throws {
        try client.send(method, target, fields: fields, body: body)
    }

    func exchange(on client: RawClient) throws -> HTTPMessage {
        try client.exchange(method, target, fields: fields, body: body)
    }

    /// On a connection of its own.
    func exchange(with gateway: GatewayProcess) throws -> HTTPMessage {
        try exchange(on: try gateway.connect())
    }
}

extension SimulatedDevice {
    /// A signed request to one of the routes of a ``FaultSite``.
    func call(_ route: String, challenge: String? = nil) throws -> SignedCall {
        let target = "/\(route)/it"
        let body = Array(
            #"{"key":"\#(keyID.base64)","counter":\#(counter &+ 1),"id":"\#(UUID())"}"#.utf8)
        let signed =
            route == "body"
            ? try sign(body: body)
            : try sign(method: "POST", path: target, body: body, challenge: challenge)
        return SignedCall(
            method: "POST", target: target, fields: signed.headers.map { ($0.name, $0.value) },
            body: body)
    }

    /// A signed request with a fresh challenge of `gateway`.
    func call(_ route: String, at gateway: GatewayProcess) throws -> SignedCall {
        try call(route, challenge: try gateway.challenge())
    }
}

extension GatewayProcess {
    /// A fresh challenge, waiting until the counter store was reached for the first time.
    func challenge(_ target: String = "/assert/challenge") throws -> String {
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
    func challenges(_ count: Int) throws -> [String] {
        _ = try challenge()
        let client = try connect()
        return try (0..<count).map { _ in
            try client.exchange("GET", "/assert/challenge").bodyText
        }
    }

    /// Asks until there is a result, where no event tells that there will be one.
    func poll<Result>(_ body: (RawClient) throws -> Result?) throws -> Result {
        let limit = Date(timeIntervalSinceNow: 30)
        var client = try connect()
        while Date() < limit {
            if let result = try? body(client) { return result }
            _ = Foundation.poll(nil, 0, 10)
            client = try connect()
        }
        throw FaultSiteError("the gateway did not get there in 30 s")
    }

    /// The most memory that the process ever had resident (`VmHWM` of `/proc/PID/status`).
    func peakByteCount() throws -> Int {
        let text = try String(
            contentsOfFile: "/proc/\(current.processID)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let word = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        guard let kibibytes = word.flatMap({ Int($0) }) else {
            throw FaultSiteError("/proc/PID/status: \(text)")
        }
        return kibibytes * 1024
    }

    /// That the process is the same one as when it was started, and unharmed.
    var isUnharmed: Bool { current.exitStatus == nil && alarms.isEmpty }
}

extension HTTPMessage {
    /// The member `code` of a problem document.
    var code: String? {
        guard case .object(let members)? = try? JSONValue.parse(body.span),
            case .string(let code)? = members["code"]
        else { return nil }
        return code
    }

    /// Status and code, for comparisons that tell all when they fail.
    var verdict: String { "\(status)" + (code.map { " \($0)" } ?? "") }
}

extension JSONValue {
    static func parse(_ bytes: Span<UInt8>) throws -> JSONValue {
        try parse(bytes, byteCountMax: 1 << 20, depthMax: 8)
    }
}

extension [UInt8] {
    var sha256: [UInt8] { SHA256.hash(self).array }
}

/// Runs `body` on `count` threads of their own at once, and returns what they returned, in order.
func inParallel<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value
) throws -> [Value] {
    let results = ParallelResults<Value>(count: count)
    for index in 0..<count {
        Thread.detachNewThread { results.set(index, Swift.Result { try body(index) }) }
    }
    return try results.wait().map { try $0.get() }
}

private final class ParallelResults<Value: Sendable>: @unchecked Sendable {
    private let changed = NSCondition()
    private var results: [Int: Swift.Result<Value, any Error>] = [:]
    private let count: Int

    init(count: Int) { self.count = count }

    func set(_ index: Int, _ result: Swift.Result<Value, any Error>) {
        changed.withLock {
            results[index] = result
            changed.broadcast()
        }
    }

    func wait() -> [Swift.Result<Value, any Error>] {
        changed.withLock {
            while results.count < count { changed.wait() }
            return (0..<count).compactMap { results[$0] }
        }
    }
}

/// Gives each index below a count to one thread.
final class WorkQueue: @unchecked Sendable {
    private let lock = NSLock()
    private var index = 0
    private let count: Int

    init(count: Int) { self.count = count }

    func next() -> Int? {
        lock.withLock {
            guard index < count else { return nil }
            defer { index += 1 }
            return index
        }
    }
}

/// Numbers that are the same in each run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// xorshift64*, by Marsaglia and Vigna.
    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
