import DeviceCheck
import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite(
    "A client's enrolment", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)), .fewAtOnce
)
struct ClientEnrolmentTests {
    private let site: ClientSite

    init() throws { site = try ClientSite() }
}

extension ClientEnrolmentTests {
    private func send(_ client: AppAttestClient) async throws -> Int {
        try await client.send(try site.request()).1.statusCode
    }

    @Test("outlives a launch of the app")
    func launches() async throws {
        #expect(try await send(site.client()) == 200)
        #expect(try await send(site.client()) == 200)
        #expect(site.service.keyCount == 1)
        #expect(site.network.count("/attest/verify") == 1)
        #expect(try await site.client().keyID == site.store.load()?.keyID)
    }

    @Test("keeps key and hash while Apple cannot be reached, and waits longer each time")
    func serverUnavailable() async throws {
        for round in 1...3 {
            site.service.fail(.attestation, .serverUnavailable)
            await #expect(throws: DCError(.serverUnavailable)) { try await send(site.client()) }
            // Before its time nothing is tried, also by the app's next launch.
            await #expect(throws: ClientError.self) { try await send(site.client()) }
            #expect(site.service.attestedHashes.count == round)
            site.clock.advance(pow(2, Double(round - 1)) + 0.1)
        }
        #expect(try await send(site.client()) == 200)
        #expect(site.service.keyCount == 1)
        #expect(Set(site.service.attestedHashes).count == 1)
        #expect(site.network.count("/attest/challenge") == 1)
    }

    @Test("sends the same attestation again where the gateway's answer was lost")
    func lostAnswer() async throws {
        site.network.trouble("/attest/verify", [.lost])
        await #expect(throws: URLError.self) { try await send(site.client()) }
        site.clock.advance(20)
        #expect(try await send(site.client()) == 200)
        #expect(site.service.attestedHashes.count == 1)
        #expect(site.service.keyCount == 1)
    }

    @Test("makes one new key where the device cannot attest the first, and no third")
    func invalidKey() async throws {
        site.service.fail(.attestation, .invalidKey)
        #expect(try await send(site.client()) == 200)
        #expect(site.service.keyCount == 2)

        let other = try ClientSite()
        other.service.fail(.attestation, .invalidKey)
        other.service.fail(.attestation, .invalidKey)
        await #expect(throws: DCError(.invalidKey)) { try await other.client().enrol() }
        await #expect(throws: ClientError.self) { try await other.client().enrol() }
        #expect(other.service.keyCount == 2)
    }

    /// A store that takes no state while it is full.
    private final class FullStore: EnrolmentStore, @unchecked Sendable {
        private let store = MemoryStore()
        var isFull = true

        func load() -> EnrolmentState? { store.load() }

        func save(_ state: EnrolmentState) throws {
            guard !isFull else { throw ClientError.keychain(-34018) }
            store.save(state)
        }
    }

    @Test("waits after a state that was not saved, longer each time")
    func unsaved() async throws {
        let store = FullStore()
        let client = site.client(store: store)
        for round in 1...2 {
            for _ in 0..<5 { await #expect(throws: ClientError.self) { try await send(client) } }
            #expect(site.service.keyCount == round)
            site.clock.advance(1)
        }
        store.isFull = false
        await #expect(throws: ClientError.self) { try await client.enrol() }
        site.clock.advance(1)
        try await client.enrol()
        #expect(site.service.keyCount == 3)
    }

    @Test("is made anew once where the key is gone, as after an installation anew")
    func lostKey() async throws {
        #expect(try await send(site.client()) == 200)
        site.service.loseKeys()
        #expect(try await send(site.client()) == 200)
        #expect(site.network.count("/attest/verify") == 2)
        site.service.loseKeys()
        await #expect(throws: DCError(.invalidKey)) { try await send(site.client()) }
        site.clock.advance(3601)
        #expect(try await send(site.client()) == 200)
    }

    @Test("waits as long as the gateway says")
    func retryAfter() async throws {
        site.network.trouble(
            "/attest/challenge", [.refusal(429, "rate_limited", "retry_later", retryAfter: 600)])
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        site.clock.advance(599)
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        #expect(site.network.count("/attest/challenge") == 1)
        site.clock.advance(2)
        #expect(try await send(site.client()) == 200)
        #expect(site.service.keyCount == 1)
    }

    @Test("waits no longer than it was told where the clock was set back since")
    func clockSetBack() async throws {
        let year: TimeInterval = 365 * 24 * 3600
        site.clock.advance(year)
        site.network.trouble(
            "/attest/challenge", [.refusal(429, "rate_limited", "retry_later", retryAfter: 600)])
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        site.clock.advance(-year)
        // How much of the wait is over is not known, so it begins anew, once.
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        site.clock.advance(599)
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        site.clock.advance(2)
        #expect(try await send(site.client()) == 200)
    }

    @Test("believes no Retry-After of more than a week")
    func retryAfterMax() async throws {
        let week = 7 * 24 * 3600
        site.network.trouble(
            "/attest/challenge",
            [.refusal(429, "rate_limited", "retry_later", retryAfter: 4_000_000_000)])
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        site.clock.advance(TimeInterval(week + 1))
        #expect(try await send(site.client()) == 200)
    }

    @Test("stops where the gateway refuses for good")
    func refused() async throws {
        site.network.trouble(
            "/attest/verify", [.refusal(403, "attestation_invalid", "none")])
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        #expect(site.network.count("/attest/verify") == 1)
    }

    @Test("is kept in the keychain of this device")
    func keychain() throws {
        let url = try #require(URL(string: "https://\(UUID().uuidString).example"))
        let store = KeychainStore(gateway: url)
        #expect(try store.load() == nil)
        let state = EnrolmentState()
        try store.save(state)
        #expect(try store.load() == state)
        try store.save(state)
        #expect(try KeychainStore(gateway: url).load() == state)
        #expect(try KeychainStore(gateway: url, accessGroup: "group").load() == nil)
    }

    @Test("is one build's own: neither Xcode's and the App Store's share one, nor a group's apps")
    func keychainNames() throws {
        let url = try #require(URL(string: "https://\(UUID().uuidString).example"))
        let stores = KeychainStore.Environment.allCases.flatMap { environment in
            ["com.example.app", "com.example.app.share"].map { bundle in
                KeychainStore(
                    gateway: url, environment: environment, bundleIdentifier: bundle,
                    accessGroup: "group")
            }
        }
        for store in stores {
            #expect(try store.load() == nil)
            try store.save(EnrolmentState())
        }
        #expect(stores.count == 4)
        #if DEBUG
            #expect(KeychainStore.Environment.ofBuild == .development)
        #else
            #expect(KeychainStore.Environment.ofBuild == .production)
        #endif
    }
}
