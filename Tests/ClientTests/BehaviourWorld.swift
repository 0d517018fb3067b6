import DeviceCheck
import Foundation
import FoundationNetworking
import SallyportClient

/// An App Attest service, a gateway and a clock that do as a case says, and note what the client
/// does.
final class BehaviourWorld: AttestService, Transport, @unchecked Sendable {
    private static let failures: [String: DCError.Code] = [
        "transient": .serverUnavailable, "lost": .invalidKey, "input": .invalidInput,
        "unsupported": .featureUnsupported, "unknown": .unknownSystemFailure,
    ]

    let isSupported: Bool
    private let store = MemoryStore()
    private let lock = NSLock()
    private var noted: [String] = []
    private var failures: [String: [String]] = [:]
    private var answers: [String: [BehaviourEvent.Answer]] = [:]
    private var now = Date(timeIntervalSince1970: 1_800_000_000)
    private var count = 0

    init(isSupported: Bool) { self.isSupported = isSupported }

    func url(_ path: String) throws -> URL {
        guard let url = URL(string: "https://gateway.example" + path) else {
            throw URLError(.badURL)
        }
        return url
    }

    func client() throws -> AppAttestClient {
        var clock = ClientClock()
        clock.now = { [self] in lock.withLock { now } }
        clock.sleep = { [self] seconds in
            lock.withLock {
                noted.append("wait \(Int(seconds))")
                now += seconds
            }
        }
        clock.chance = { 0 }
        return AppAttestClient(
            Configuration(gateway: try url("")), store: store, service: self,
            deviceTokens: SimulatedDeviceTokens(), transport: self, clock: clock)
    }

    // MARK: cases

    var actions: [String] { lock.withLock { noted } }

    func clear() { lock.withLock { noted.removeAll() } }

    func advance(_ seconds: Double) { lock.withLock { now += seconds } }

    /// Takes the failures and answers of an event, in place of those of the one before.
    func prepare(_ event: BehaviourEvent) {
        lock.withLock {
            failures = event.device ?? [:]
            answers = event.gateway ?? [:]
        }
    }

    private struct State: Decodable {
        struct Wait: Decodable { let until: Date }

        let stage: [String: [String: String]]
        let wait: Wait?
    }

    /// The stage, and the rest of the wait in seconds.
    func state() throws -> String {
        guard let saved = store.load() else { return "none" }
        let state = try JSONDecoder().decode(State.self, from: JSONEncoder().encode(saved))
        let wait = state.wait.map { until in
            lock.withLock { until.until.timeIntervalSince(now) }.rounded()
        }
        let stage = state.stage.keys.first ?? ""
        return (wait ?? 0) > 0 ? "\(stage) waits \(Int(wait ?? 0))" : stage
    }

    // MARK: the service

    private func act(_ action: String, _ step: String) throws {
        try lock.withLock {
            noted.append(action)
            guard let kind = failures[step]?.first else { return }
            failures[step]?.removeFirst()
            guard let code = Self.failures[kind] else { throw URLError(.unknown) }
            throw DCError(code)
        }
    }

    func generateKey() async throws -> String {
        try act("make key", "make")
        return lock.withLock {
            count += 1
            return "k+\(count)/="
        }
    }

    func attestKey(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try act("attest key", "attest")
        return clientDataHash
    }

    func generateAssertion(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try act("sign", "sign")
        return clientDataHash
    }

    // MARK: the gateway

    func send(
        _ request: URLRequest, _ body: RequestBody
    ) async throws -> (Data, HTTPURLResponse) {
        let path = request.url?.path ?? ""
        let answer: BehaviourEvent.Answer? = lock.withLock {
            let method = request.httpMethod ?? "GET"
            noted.append(
                path == "/api/x" ? "send \(Self.proof(of: request))" : "\(method) \(path)")
            guard let answer = answers[path]?.first else { return nil }
            answers[path]?.removeFirst()
            return answer
        }
        switch answer {
        case .lost: throw URLError(.networkConnectionLost)
        case .response(let parts): return try response(path, parts)
        case nil: return try response(path, nil)
        }
    }

    private static func proof(of request: URLRequest) -> String {
        if request.value(forHTTPHeaderField: "X-App-Attest-Token") != nil { return "token" }
        let assertion = request.value(forHTTPHeaderField: "X-App-Attest-Assertion")
        return assertion == nil ? "unproved" : "signed"
    }

    private func token() -> String {
        lock.withLock {
            count += 1
            return "challenge-\(count)"
        }
    }

    private func response(
        _ path: String, _ parts: BehaviourEvent.Answer.Parts?
    ) throws -> (Data, HTTPURLResponse) {
        var fields: [String: String] = [:]
        if parts?.challenge != false { fields["X-App-Attest-Challenge"] = token() }
        if let code = parts?.header { fields["WWW-Authenticate"] = "AppAttest error=\"\(code)\"" }
        if let seconds = parts?.retryAfter { fields["Retry-After"] = "\(seconds)" }
        var members: [String: Any] = [:]
        if let parts, let code = parts.code {
            fields["Content-Type"] = "application/problem+json"
            members = ["code": code, "action": parts.action ?? ""]
            members["retry"] = parts.retry
            members["assertion"] = parts.assertion
        } else if path.hasSuffix("/challenge") {
            members = ["challenge": token(), "expires_in": 120]
        } else if path == "/assert/token" {
            members = ["token": "token", "expires_in": 300]
        }
        let status = parts?.status ?? 200
        let hasDocument = status == 200 || parts?.code != nil
        guard
            let response = HTTPURLResponse(
                url: try url(path), statusCode: status, httpVersion: nil, headerFields: fields)
        else { throw URLError(.badURL) }
        guard hasDocument else { return (Data("-".utf8), response) }
        return (try JSONSerialization.data(withJSONObject: members), response)
    }
}
