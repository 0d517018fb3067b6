import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite(
    "A client's ticket", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)), .fewAtOnce)
struct ClientTicketTests {
    private let site: ClientSite

    init() throws { site = try ClientSite() }
}

extension ClientTicketTests {
    private struct Locked: TicketStore {
        struct Fault: Error {}

        func load() throws -> String? { throw Fault() }
        func save(_ ticket: String) throws { throw Fault() }
    }

    private func tickets(isSynchronizable: Bool = false) -> KeychainTicketStore {
        KeychainTicketStore(
            gateway: site.configuration.gateway, bundleIdentifier: "com.example.app",
            isSynchronizable: isSynchronizable)
    }

    /// Sends a request as after a reinstall, which loses the state and not the ticket. Returns the
    /// installation that the API was told.
    private func send(tickets: (any TicketStore)?) async throws -> String? {
        let client = AppAttestClient(
            site.configuration, store: MemoryStore(), tickets: tickets, service: site.service,
            deviceTokens: site.deviceTokens, transport: site.network, clock: site.clock.clock)
        #expect(try await client.send(try site.request()).1.statusCode == 200)
        return site.upstream.requests.last?["X-Attest-Installation"]
    }

    @Test("lets it remain one installation to the API")
    func kept() async throws {
        let first = try #require(try await send(tickets: tickets()))
        let ticket = try #require(try tickets().load())
        #expect(try await send(tickets: tickets()) == first)
        #expect(try await send(tickets: tickets()) == first)
        #expect(try tickets().load() != ticket)
        // Items of the iCloud keychain are others.
        #expect(try tickets(isSynchronizable: true).load() == nil)
        #expect(try await send(tickets: tickets(isSynchronizable: true)) != first)
    }

    @Test("is no condition for an enrolment")
    func missing() async throws {
        let first = try await send(tickets: nil)
        #expect(try await send(tickets: Locked()) != first)
        let other = ClientTicketMemory("not a ticket")
        #expect(try await send(tickets: other) != first)
        #expect(other.load() != "not a ticket")
    }

    @Test("of a gateway that gives none is not missed")
    func earlierGateway() async throws {
        site.network.trouble("/attest/verify", [.answer(200, [:], #"{"status":"attested"}"#)])
        let client = AppAttestClient(
            site.configuration, store: MemoryStore(), tickets: tickets(), service: site.service,
            deviceTokens: site.deviceTokens, transport: site.network, clock: site.clock.clock)
        try await client.enrol()
        #expect(try tickets().load() == nil)
    }
}

/// A store that keeps a ticket in memory.
private final class ClientTicketMemory: TicketStore, @unchecked Sendable {
    private let lock = NSLock()
    private var ticket: String

    init(_ ticket: String) { self.ticket = ticket }

    func load() -> String? { lock.withLock { ticket } }
    func save(_ ticket: String) { lock.withLock { self.ticket = ticket } }
}
