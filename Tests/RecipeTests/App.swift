import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON

/// An app on a simulated device, which reaches its API by curl, through whatever stands in front.
final class App {
    struct Answer {
        let status: Int
        let version: String
        let body: String

        /// Status and, for a refusal, its code: `401 assertion_replayed`, `200`.
        var outcome: String {
            let code = (try? JSONValue.parse(body))?["code"]?.stringValue
            return code.map { "\(status) \($0)" } ?? "\(status)"
        }
    }

    let device: SimulatedDevice
    /// Without a slash at its end.
    let base: String
    private let options: [String]

    /// `base`: e.g. `https://localhost:1234`; `options` are of curl.
    init(_ base: String, options: [String] = [], device: SimulatedDevice? = nil) throws {
        self.base = base
        self.options = options
        self.device = try device ?? SimulatedDevice(appID: GatewayConfiguration.appID)
    }

    /// An app whose key is enrolled.
    static func enrolled(_ base: String, options: [String] = []) throws -> App {
        let app = try App(base, options: options)
        try app.enrol()
        return app
    }

    func exchange(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8] = [],
        options more: [String] = []
    ) throws -> Answer {
        var words = ["-sS", "--path-as-is", "-X", method, "-w", "\n%{http_code} %{http_version}"]
        words += options + more + fields.flatMap { ["-H", "\($0.0): \($0.1)"] }
        if !body.isEmpty { words += ["--data-binary", "@-"] }
        let curl = try ChildProcess.run("curl", words + [base + target], standardInput: body)
        guard curl.status == .exited(0) else {
            throw RecipeError("curl \(method) \(target): \(curl.standardError)")
        }
        let parts = curl.standardOutput.split(
            separator: "\n", omittingEmptySubsequences: false)
        let end = parts[parts.count - 1].split(separator: " ")
        return Answer(
            status: Int(end[0]) ?? 0, version: String(end[1]),
            body: parts.dropLast().joined(separator: "\n"))
    }

    /// A fresh challenge. Waits until the gateway has reached its counter store.
    func challenge(_ target: String = "/assert/challenge") throws -> String {
        var answer = try exchange("GET", target)
        try repeatWhile(answer.outcome == "503 store_unavailable") {
            answer = try exchange("GET", target)
        }
        guard answer.status == 200 else { throw RecipeError("no challenge: \(answer.outcome)") }
        return answer.body
    }

    func enrol() throws {
        let challenge = try challenge("/attest/challenge")
        let attestation = try device.attest(
            clientDataHash: SHA256.hash(Array(challenge.utf8)).array, by: TestApple.shared,
            at: Int64(Date().timeIntervalSince1970))
        let answer = try exchange(
            "POST", "/attest/verify", fields: [("Content-Type", "application/json")],
            body: FaultSite.attestationBody(
                keyID: device.keyID.base64, attestation: Base64.encode(attestation),
                challenge: challenge))
        guard answer.status == 200 else { throw RecipeError("not enrolled: \(answer.outcome)") }
    }

    /// What proves a request; its query is signed too.
    func signature(
        _ method: String, _ target: String, body: [UInt8] = [], challenge: String? = nil
    ) throws -> [(String, String)] {
        let parts = target.split(separator: "?", maxSplits: 1)
        let signed = try device.sign(
            method: method, path: String(parts[0]),
            query: parts.count > 1 ? String(parts[1]) : nil, body: body,
            challenge: try challenge ?? self.challenge())
        return signed.headers.map { ($0.name, $0.value) }
    }

    /// A signed request.
    func request(
        _ method: String, _ target: String, body: [UInt8] = [], fields: [(String, String)] = [],
        options: [String] = []
    ) throws -> Answer {
        try exchange(
            method, target, fields: try signature(method, target, body: body) + fields, body: body,
            options: options)
    }
}
