import AppAttest
import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

/// A gateway whose keys for Apple's services change while it asks them: those of two teams for
/// receipts, and one of them for device tokens.
@Suite(
    "Apple's keys replaced under load", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
final class AppleKeySwapTests: ReceiptSite {
    private static let teams = [AppleServer.teamID, "FGHIJ12345"]
    /// By round, the key of each team.
    private static let rounds = [["AAAAAAAAA1", "BBBBBBBBB1"], ["AAAAAAAAA2", "BBBBBBBBB2"]]
    private static let otherApp = "FGHIJ12345.com.example.app"

    let apple: AppleServer
    let site: FaultSite

    init() throws {
        apple = try AppleServer(
            pairs: Self.rounds.flatMap { keys in zip(Self.teams, keys).map { "\($0):\($1)" } })
        site = try FaultSite()
        site.configuration.extraRootPaths = [TestApple.rootPath, apple.receiptRootPath]
        site.configuration.apps.append("{ id: \(Self.otherApp), environments: [production] }")
        site.configuration.routes = [
            .init("strict", path: "/strict/*", attest: "mode: enforce, apps: any"),
            .init(
                "device", path: "/device/*",
                attest: "mode: enforce, apps: any, accept: [assertion, device_check]"),
        ]
    }
}

extension AppleKeySwapTests {
    /// One that names the keys of a round alone.
    private func configuration(round: Int, receipts: String) throws -> GatewayConfiguration {
        let lines = try apple.settings.split(separator: "\n").map(String.init)
        let count = Self.teams.count
        // Three lines for each key, in the order in which the stand-in was told of them.
        let keys = lines[(2 + 3 * count * round)...].prefix(3 * count)
        let rest = lines[(2 + 3 * count * Self.rounds.count)...]
        var configuration = site.configuration
        configuration.more = [
            (lines[..<2] + keys + rest).joined(separator: "\n"), "receipts: \(receipts)",
            "device_check: { team_id: \(Self.teams[0]), rate: 1000/s, in_flight_max: 256 }",
        ]
        return configuration
    }

    /// A gateway with the keys of the first round, which renews nothing yet.
    private func start() throws -> GatewayProcess {
        try GatewayProcess(
            configuration(round: 0, receipts: "{ renew: off }"), directory: site.directory)
    }

    private static func enrol(
        _ appID: String, at gateway: GatewayProcess
    ) throws -> SimulatedDevice {
        let device = try SimulatedDevice(appID: appID)
        let body = try FaultSite.attestation(
            device, challenge: try gateway.challenge("/attest/challenge"), by: TestApple.shared)
        let answer = try gateway.exchange("POST", "/attest/verify", body: body)
        #expect(answer.status == 200, "\(answer.bodyText)")
        return device
    }

    /// Of both teams in turn.
    @discardableResult
    private static func enrol(
        _ count: Int, at gateway: GatewayProcess
    ) throws -> [SimulatedDevice] {
        try (0..<count).map { index in
            try enrol(index % 2 == 0 ? GatewayConfiguration.appID : otherApp, at: gateway)
        }
    }

    @Test("each request is signed with one round's key, none is lost, and none is sent twice")
    func swapped() throws {
        let gateway = try start()
        let devices = try Self.enrol(16, at: gateway)
        let tokens = try apple.deviceTokens(device: "phone", count: 1000)
        // Each answer takes a while, so that there are always some under way.
        try apple.fail(count: 0, delayMilliseconds: 100)
        let configurations = try Self.rounds.indices.map {
            try configuration(round: $0, receipts: Self.renewing)
        }
        let isReplaced = Gate()
        let outcomes = try inParallel(5) { [apple] thread -> [String] in
            guard thread > 0 else {
                defer { isReplaced.open() }
                try Self.replaceKeys(configurations, gateway, apple)
                return []
            }
            var outcomes: [String] = []
            for index in stride(from: thread - 1, to: tokens.count, by: 4)
            where !isReplaced.isOpen {
                let field = ("X-Device-Check-Token", tokens[index])
                let answer = try gateway.exchange("GET", "/device/\(index)", fields: [field])
                outcomes.append(answer.outcome)
            }
            return outcomes
        }.joined()
        #expect(outcomes.allSatisfy { $0 == "200" }, "\(outcomes.filter { $0 != "200" })")
        let count = devices.count + Self.rounds.count * Self.latecomerCount
        #expect(try eventually { try renewals("renewed", gateway) == Double(count) })
        for device in devices { try wait(for: "renewed", of: device, gateway) }
        let requests = try apple.requests
        // Signed with a mixture of two keys, or with another team's, it would be refused.
        #expect(requests.allSatisfy { $0.hasSuffix(" 200") })
        let exchanged = requests.filter { $0.hasPrefix("attestation_data ") }
        #expect(exchanged.count == count)
        for key in Self.rounds.joined() {
            #expect(exchanged.contains { $0.contains(key) }, "\(key)")
        }
        #expect(requests.count == exchanged.count + outcomes.count)
        #expect(Set(site.upstream.requests.map(\.target)).count == outcomes.count)
        #expect(site.upstream.requests.count == outcomes.count)
        #expect(try gateway.metric("sallyport_receipt_renewals_superseded_total") == 0)
        #expect(gateway.alarms.isEmpty)
    }

    private static let latecomerCount = 8
    private static let renewing = "{ lease: 5s, rate: 10/s, jitter: 0s }"

    /// One reload after the other, while each team's keys are in use: those of the first team
    /// for device tokens, those of the second for receipts.
    private static func replaceKeys(
        _ configurations: [GatewayConfiguration], _ gateway: GatewayProcess, _ apple: AppleServer
    ) throws {
        for (configuration, keys) in zip(configurations, rounds) {
            let event = try gateway.reload(configuration)
            #expect(event["event"]?.stringValue == "reloaded")
            // Whatever was left, these can only be signed with the keys of this round.
            try enrol(latecomerCount, at: gateway)
            _ = try gateway.poll { _ in
                let requests = try apple.requests
                func count(_ service: String, _ key: String) -> Int {
                    requests.count { $0.hasPrefix(service) && $0.contains(key) }
                }
                let areUsed =
                    count("device_check", keys[0]) >= 4
                    && count("attestation_data", keys[1]) >= 2
                return areUsed ? true : nil
            }
        }
        // What was asked with them has arrived; Apple would take them no more.
        for key in rounds[0] { try apple.revoke(key) }
    }

    @Test("what Apple says to the keys of before does not stop a team with new ones")
    func refusedMeanwhile() throws {
        let gateway = try start()
        let devices = try Self.enrol(4, at: gateway)
        // All are asked for with the old keys, and refused after the new ones have come.
        try apple.fail(
            .attestationData, status: 401, count: devices.count, delayMilliseconds: 3000)
        try gateway.reload(configuration(round: 0, receipts: Self.renewing))
        #expect(try eventually { try apple.requests.count == devices.count })
        try gateway.reload(configuration(round: 1, receipts: Self.renewing))
        #expect(try renewals("unauthorized", gateway) == 0)
        for device in devices { try wait(for: "renewed", of: device, gateway) }
        #expect(try renewals("unauthorized", gateway) == Double(devices.count))
        #expect(try renewals("renewed", gateway) == Double(devices.count))
        let said = gateway.current.text(on: .standardError)
        #expect(!said.contains(#""event":"receipts_unauthorized""#))
        #expect(!said.contains(#""event":"receipts_backing_off""#))
    }
}
