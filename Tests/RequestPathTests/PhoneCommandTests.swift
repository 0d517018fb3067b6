import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Phones of sallyport-lab", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct PhoneCommandTests {
    private let phones: LabPhones
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        phones = try LabPhones()
        upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.apps = []
        phones.letIn(to: &configuration)
        gateway = try GatewayProcess(configuration)
    }
}

extension PhoneCommandTests {
    private func attest(_ path: String, _ more: [String] = []) throws -> ChildProcess.Outcome {
        try phones.attest(path, at: gateway, more)
    }

    private func request(_ path: String, _ more: [String] = []) throws -> String {
        try phones.request(path, at: gateway, more)
    }

    @Test("enrol, and sign requests that the gateway takes")
    func requests() throws {
        let phone = try phones.phone(
            "phone", ["--security-level", "strongbox", "--provisioning", "remote"])
        let enrolled = try attest(phone)
        #expect(enrolled.status == .exited(0), "\(enrolled.standardOutput)")
        #expect(try request(phone, ["--body", "1"]).hasPrefix("HTTP/1.1 200"))
        #expect(try request(phone, ["--key-id", "clientData"]).hasPrefix("HTTP/1.1 200"))
        #expect(upstream.requests.count == 2)
    }

    @Test(
        "sign with a fault when they are told to",
        arguments: [
            ("otherKey", "assertion_invalid"), ("hashedTwice", "assertion_invalid"),
            ("empty", "assertion_malformed"),
        ])
    func faults(fault: String, code: String) throws {
        let phone = try phones.phone("phone")
        try #require(try attest(phone).status == .exited(0))
        let answer = try request(phone, ["--fault", fault])
        #expect(answer.hasPrefix("HTTP/1.1 401") && answer.contains("\"\(code)\""), "\(answer)")
        #expect(upstream.requests.isEmpty)
    }

    @Test("are refused in the state that they are told to be in")
    func states() throws {
        for (number, more) in [
            ["--unlocked"], ["--boot-state", "self_signed"], ["--app", "com.example.other"],
        ].enumerated() {
            let refused = try attest(try phones.phone("phone\(number)", more))
            #expect(refused.status == .exited(1))
            #expect(refused.standardOutput.contains("attestation_invalid"), "\(more)")
        }
        let phone = try phones.phone("last")
        #expect(try attest(phone, ["--fault", "imeiAttested"]).status == .exited(1))
        #expect(try attest(phone).status == .exited(0))
    }

    @Test("have a platform that is not mistaken for another")
    func platforms() throws {
        let phone = try phones.phone("phone")
        let outcome = try phones.run([
            "device", "request", "--platform", "apple", "--state", phone, "--gateway",
            "127.0.0.1:\(gateway.port)", "GET", "/api/x",
        ])
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("holds a device of --platform android"))
    }
}
