import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// Heap allocations of our own that a request makes on a warm connection. A budget is what was
/// measured when it was last lowered; optimized builds need fewer.
@Suite("Allocations of a request", .timeLimit(.minutes(30)))
struct AllocationTests {
    private static let plainMax = 0
    private static let verifiedMax = 0
    private static let tokenMax = 0
    /// What the signals of a key's use add to a verified request of a known user and address.
    private static let keyUseMax = 1
    /// What else the thread does meanwhile only adds to a count, so the least of some tries tells.
    /// More of them are made only where that is above the budget.
    private static let triesMax = 20

    /// Its upstream says how long it keeps connections. Without that, what cannot be repeated takes
    /// a new one whenever the machine was so busy that a second has passed.
    private static func site() throws -> FaultSite {
        try FaultSite(
            upstream: RecordingUpstream { _ in .response(fields: [("Keep-Alive", "timeout=60")]) })
    }

    @Test(
        "are the same with spans of other requests", .enabled(if: CountedGateway.isInstalled))
    func unsampled() throws {
        let site = try Self.site()
        site.configuration.more.append(
            "otlp: { endpoint: \"http://127.0.0.1:1\", sample: 0%, metrics_interval: off }")
        let counted = try CountedGateway(
            site.configuration, directory: site.directory, isOneThread: true)
        let client = try counted.gateway.connect()
        let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
        var least = Int.max
        for _ in 0..<Self.triesMax where least > Self.plainMax {
            let cost = try counted.cost {
                let answer = try client.exchange(
                    "GET", "/open/x", fields: [("traceparent", unsampled)])
                #expect(answer.status == 200)
            }
            least = min(least, cost.allocations)
        }
        #expect(least <= Self.plainMax)
    }

    @Test("are hardly more with signals of a key's use", .enabled(if: CountedGateway.isInstalled))
    func keyUse() throws {
        let site = try Self.site()
        site.configuration.more.append(
            "signals: { users_per_key: { cookie: session }, addresses_per_key: {}, "
                + "networks_per_key: {}, counter_gaps: {} }")
        let counted = try CountedGateway(
            site.configuration, directory: site.directory, isOneThread: true)
        let device = try site.device()
        let client = try counted.gateway.connect()
        func challenge(_ endpoint: String) throws -> String {
            var text = ""
            _ = try counted.cost { text = try client.exchange("POST", endpoint).bodyText }
            return text
        }
        let attestation = try site.attestation(device, challenge: challenge("/attest/challenge"))
        _ = try counted.cost {
            _ = try client.exchange("POST", "/attest/verify", body: attestation)
        }
        let budget = Self.verifiedMax + Self.keyUseMax
        var least = Int.max
        for _ in 0..<Self.triesMax where least > budget {
            let call = try device.call("strict", challenge: challenge("/assert/challenge"))
            let cost = try counted.cost {
                let answer = try call.exchange(on: client)
                #expect(answer.status == 200)
            }
            least = min(least, cost.allocations)
        }
        #expect(least <= budget)
    }

    @Test("are no more than they were", .enabled(if: CountedGateway.isInstalled))
    func budget() throws {
        let site = try Self.site()
        site.configuration.routes.append(
            .init("tokens", path: "/tokens/*", attest: "mode: enforce, accept: [assertion, token]"))
        let counted = try CountedGateway(
            site.configuration, directory: site.directory, isOneThread: true)
        let device = try site.device()
        let client = try counted.gateway.connect()
        /// Without a budget: of one request.
        func cost(within budget: Int = .max - 1, _ send: () throws -> HTTPMessage) throws -> Int {
            var least = Int.max
            for _ in 0..<Self.triesMax where least > budget {
                let cost = try counted.cost {
                    let status = try send().status
                    #expect(status == 200)
                }
                least = min(least, cost.allocations)
            }
            return least
        }
        func challenge(_ endpoint: String = "/assert/challenge") throws -> String {
            var text = ""
            _ = try cost {
                let answer = try client.exchange("POST", endpoint)
                text = answer.bodyText
                return answer
            }
            return text
        }
        let attestation = try site.attestation(
            device, challenge: try challenge("/attest/challenge"))
        _ = try cost { try client.exchange("POST", "/attest/verify", body: attestation) }

        let plain = try cost(within: Self.plainMax) { try client.exchange("GET", "/open/x") }
        var verified = Int.max
        for _ in 0..<Self.triesMax where verified > Self.verifiedMax {
            let call = try device.call("strict", challenge: try challenge())
            verified = min(verified, try cost { try call.exchange(on: client) })
        }
        let signed = try device.sign(
            method: "POST", path: "/assert/token", body: [], challenge: try challenge())
        var issued = ""
        _ = try cost {
            let answer = try client.exchange(
                "POST", "/assert/token", fields: signed.headers.map { ($0.name, $0.value) })
            let body = try JSONSerialization.jsonObject(with: Data(answer.body))
            issued = (body as? [String: Any])?["token"] as? String ?? ""
            return answer
        }
        let token = try cost(within: Self.tokenMax) {
            try client.exchange(
                "GET", "/tokens/x", fields: [("X-App-Attest-Token", issued)])
        }
        print("allocations: \(plain) plain, \(verified) verified, \(token) by token")
        #expect(plain <= Self.plainMax)
        #expect(verified <= Self.verifiedMax)
        #expect(token <= Self.tokenMax)
    }
}
