import DeviceCheck
import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite(
    "What becomes of a client's key", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)), .fewAtOnce)
struct ClientKeyTests {
    private let site: ClientSite

    init() throws {
        site = try ClientSite(attest: "mode: enforce, replay: { window: 64 }")
        site.configuration.signing = .window(8)
    }
}

extension ClientKeyTests {
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

    @Test(
        "it is replaced after three failures to sign in a row, also over launches of the app",
        arguments: [DCError.Code.unknownSystemFailure, .invalidInput])
    func failures(code: DCError.Code) async throws {
        let request = try site.request()
        #expect(try await site.client().send(request).1.statusCode == 200)
        // A signature in between begins the count anew.
        for round in 1...2 {
            for _ in 1...2 {
                site.service.fail(.assertion, code)
                await #expect(throws: DCError(code)) { try await site.client().sign(request) }
            }
            if round == 1 { _ = try await site.client().sign(request) }
        }
        #expect(site.service.keyCount == 1)
        site.service.fail(.assertion, code)
        #expect(try await site.client().send(request).1.statusCode == 200)
        #expect(site.service.keyCount == 2)
        // Not so soon again.
        for _ in 1...4 {
            site.service.fail(.assertion, code)
            await #expect(throws: DCError(code)) { try await site.client().sign(request) }
        }
        #expect(site.service.keyCount == 2)
        site.clock.advance(3601)
        site.service.fail(.assertion, code)
        #expect(try await site.client().send(request).1.statusCode == 200)
        #expect(site.service.keyCount == 3)
    }

    @Test("it stays where Apple is away, and where requests fail together")
    func innocent() async throws {
        let client = site.client(
            service: MeetingService(service: site.service, meeting: Meeting(of: 8)))
        try await client.enrol()
        for _ in 1...8 { site.service.fail(.assertion, .unknownSystemFailure) }
        let outcomes = try await sendTogether(client)
        #expect(outcomes.allSatisfy { $0.contains("unknownSystemFailure") })
        for _ in 1...9 {
            site.service.fail(.assertion, .serverUnavailable)
            await #expect(throws: DCError(.serverUnavailable)) {
                try await client.sign(site.request())
            }
        }
        #expect(try await client.send(site.request()).1.statusCode == 200)
        #expect(site.service.keyCount == 1)
    }

    @Test("it is forgotten at the app's word, with all waits")
    func reset() async throws {
        let client = site.client()
        let request = try site.request()
        #expect(try await client.send(request).1.statusCode == 200)
        try await client.reset()
        #expect(try await client.keyID == nil)
        #expect(site.store.load()?.keyID == nil)
        site.service.fail(.attestation, .serverUnavailable)
        await #expect(throws: DCError(.serverUnavailable)) { try await client.send(request) }
        await #expect(throws: ClientError.self) { try await client.send(request) }
        try await client.reset()
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.service.keyCount == 3)
        // It counts as a new key: the client makes no further one by itself so soon.
        site.network.trouble("/api/x", [.refusal(401, "key_unknown", "attest_again")])
        await #expect(throws: ClientError.self) { try await client.send(request) }
    }

    @Test("an enrolment on its way does not bring a forgotten key back")
    func resetMeanwhile() async throws {
        let client = site.client()
        let enrolment = Task { try await client.enrol() }
        try await client.reset()
        _ = await enrolment.result
        let keyID = try await client.keyID
        #expect(site.store.load()?.keyID == keyID)
        #expect(try await client.send(site.request()).1.statusCode == 200)
    }
}
