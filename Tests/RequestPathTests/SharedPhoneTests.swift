import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Phones of one attestation certificate",
    .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct SharedPhoneTests {}

extension SharedPhoneTests {
    private static let start = "keys_per_attestation_certificate: the attestation certificate "

    @Test("the log names it by its serial number")
    func event() throws {
        let (phones, upstream) = (try LabPhones(), try RecordingUpstream())
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.apps = []
        phones.letIn(to: &configuration)
        configuration.more = ["signals: { keys_per_attestation_certificate: { max: 1 } }"]
        let gateway = try GatewayProcess(configuration)
        for name in ["first", "second"] {
            let outcome = try phones.attest(try phones.phone(name), at: gateway)
            #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
        }
        let event = try gateway.waitForEvent("signal_raised")
        let message = try #require(event["message"]?.stringValue)
        let words = message.split(separator: " ").map(String.init)
        let serial = try #require(words.dropFirst(4).first)
        #expect(message == "\(Self.start)\(serial) has enrolled 2 keys")
        let google = try String(contentsOfFile: phones.google, encoding: .utf8)
        #expect(serial.count > 4 && google.contains(serial))
    }

    @Test("what two gateways see of it adds up")
    func signals() throws {
        let (phones, redis) = (try LabPhones(), try RedisServer())
        let directory = try ScratchDirectory()
        let upstream = try RecordingUpstream()
        var sharing = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        sharing.apps = []
        phones.letIn(to: &sharing)
        sharing.counters = redis.counters
        sharing.more = ["signals: { keys_per_attestation_certificate: { max: 3, action: deny } }"]
        let first = try GatewayProcess(sharing, directory: directory)
        sharing.more.append(
            "secrets: { challenge_key_file: \(directory.path)/registry.db.challenge-key }")
        let second = try GatewayProcess(sharing, directory: directory)
        for (number, gateway) in [first, second, second, first].enumerated() {
            let outcome = try phones.attest(try phones.phone("phone\(number)"), at: gateway)
            #expect(outcome.status == .exited(0), "\(number): \(outcome.standardOutput)")
        }
        // The first gateway has seen two, and hears of the others with its second.
        let event = try first.waitForEvent("signal_raised")
        let message = try #require(event["message"]?.stringValue)
        #expect(message.hasPrefix(Self.start), "\(message)")
        #expect(message.hasSuffix(" has 4, counted by all gateways together"), "\(message)")
        let refused = try phones.attest(try phones.phone("last"), at: first)
        #expect(refused.status == .exited(1))
        #expect(refused.standardOutput.contains("abuse_suspected"), "\(refused.standardOutput)")
        // Redis knows no serial number.
        let serial = message.dropFirst(Self.start.count).prefix { $0 != " " }
        #expect(serial.count > 4)
        #expect(!(try redis.command("KEYS", "*")).contains(serial))
    }
}
