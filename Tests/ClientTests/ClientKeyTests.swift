import DeviceCheck
import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite(
    "What becomes of a client's key", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct ClientKeyTests {
    private let site: ClientSite

    init() throws {
        site = try ClientSite(attest: "mode: enforce, replay: { window: 64 }")
        site.configuration.signing = .window(8)
    }

    /// The outcomes of eight requests that are sent at once.
    private func sendTogether(_ client: AppAttestClient) async throws -> [String] {
        let request = try site.request()
        // A failure cancels none of the others: URLSession on Linux takes that badly.
        return await withTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do {
                        return "\(try await client.send(request).1.statusCode)"
                    } catch {
                        return "\(error)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static let allServed = Array(repeating: "200", count: 8)

    @Test("requests that the gateway refuses together for a lost key are signed by one new key")
    func lostByGateway() async throws {
        let client = site.client(
            transport: MeetingNetwork(
                network: site.network, path: "/api/x", meeting: Meeting(of: 8)))
        try await client.enrol()
        let lost = try #require(try await client.keyID)
        site.network.trouble { request in
            guard request.url?.path == "/api/x",
                request.value(forHTTPHeaderField: "X-App-Attest-Key-Id") == lost
            else { return nil }
            return .refusal(401, "key_unknown", "attest_again")
        }
        #expect(try await sendTogether(client) == Self.allServed)
        #expect(site.network.count("/api/x") == 16)
        #expect(site.service.keyCount == 2)
    }

    @Test("requests that the device cannot sign by a lost key are signed by one new key")
    func lostByDevice() async throws {
        let client = site.client(
            service: MeetingService(service: site.service, meeting: Meeting(of: 8)))
        try await client.enrol()
        site.service.loseKeys()
        #expect(try await sendTogether(client) == Self.allServed)
        #expect(site.service.keyCount == 1)
        #expect(site.network.count("/attest/verify") == 2)
    }
}
