import DeviceCheck
import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite("What a client tells of its failures", .enabled(if: BuiltProgram.isBuilt), .fewAtOnce)
struct ClientFailureReportTests {
    private let site: ClientSite

    init() throws { site = try ClientSite() }
}

extension ClientFailureReportTests {
    private func send(_ client: AppAttestClient) async throws -> Int {
        try await client.send(try site.request()).1.statusCode
    }

    /// The lines of the metric, with the system's version left out.
    private func reported() throws -> [String] {
        try site.gateway.admin("/metrics").bodyText.split(separator: "\n")
            .filter { $0.hasPrefix("sallyport_client_failures_total{") }
            .map { String($0).replacing(/.*\{|,os="[0-9.]+"|\}/, with: "") }
    }

    @Test("a device that cannot attest says so at once, for no request follows")
    func attest() async throws {
        site.service.fail(.attestation, .serverUnavailable)
        await #expect(throws: DCError(.serverUnavailable)) { try await send(site.client()) }
        #expect(try reported() == [#"phase="attest",code="serverUnavailable" 1"#])
        #expect(site.network.count("/attest/failure") == 1)
        // A wait is no failure.
        await #expect(throws: ClientError.self) { try await send(site.client()) }
        site.clock.advance(1.1)
        #expect(try await send(site.client()) == 200)
        #expect(site.network.count("/attest/failure") == 1)
        #expect(try reported() == [#"phase="attest",code="serverUnavailable" 1"#])
    }

    @Test("what is mended by another request goes with that, once")
    func nextRequest() async throws {
        let client = site.client()
        #expect(try await send(client) == 200)
        site.service.loseKeys()
        #expect(try await send(client) == 200)
        #expect(try await send(client) == 200)
        #expect(site.network.count("/attest/failure") == 0)
        #expect(try reported() == [#"phase="assert",code="invalidKey" 1"#])
        #expect(
            site.upstream.requests.allSatisfy { request in
                request["X-App-Attest-Failure"] == nil
            })
    }

    @Test("a report is repeated until it is heard, and sends no request for that")
    func unheard() async throws {
        let client = site.client()
        #expect(try await send(client) == 200)
        site.network.trouble("/api/x", [.lost])
        await #expect(throws: URLError.self) { try await send(client) }
        #expect(try reported().isEmpty)
        #expect(try await send(client) == 200)
        #expect(try reported() == [#"phase="request",code="connectionLost" 1"#])
        #expect(site.network.count("/attest/failure") == 0)
    }

    @Test("a device without App Attest says so once")
    func unsupported() async throws {
        let site = try ClientSite(
            attest: "mode: observe", isSupported: false)
        site.deviceTokens.isSupported = true
        let client = site.client()
        for _ in 0..<3 { #expect(try await client.send(site.request()).1.statusCode == 200) }
        let page = try site.gateway.admin("/metrics").bodyText
        #expect(page.contains(#"{phase="support",code="unsupported",os="#))
        #expect(!page.contains(#"os="\#(Self.system)"} 2"#))
    }

    private static var system: String {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        return "\(system.majorVersion).\(system.minorVersion)"
    }

    @Test("nothing is told if the app does not want that")
    func silent() async throws {
        site.configuration.reportsFailures = false
        site.service.fail(.attestation, .serverUnavailable)
        await #expect(throws: DCError(.serverUnavailable)) { try await send(site.client()) }
        site.clock.advance(1.1)
        #expect(try await send(site.client()) == 200)
        #expect(try reported().isEmpty)
        #expect(site.network.count("/attest/failure") == 0)
    }
}

@Suite("What a client does as answers say", .enabled(if: BuiltProgram.isBuilt), .fewAtOnce)
struct ClientRetryTests {
    private let site: ClientSite
    private let client: AppAttestClient
    private let request: URLRequest

    /// A client with a key that the gateway knows.
    init() async throws {
        site = try ClientSite()
        client = site.client()
        request = try site.request()
        try await client.enrol()
    }
}

extension ClientRetryTests {
    private func refusal(_ action: String, _ retry: String) -> SimulatedNetwork.Trouble {
        .answer(
            503, ["Content-Type": "application/problem+json"],
            #"{"code":"gateway_busy","action":"\#(action)","retry":\#(retry)}"#)
    }

    @Test("it waits and gives up as the answer says, whatever its own settings are")
    func obeys() async throws {
        let advice = #"{"after":3,"backoff":1.5,"max":4,"longest":5}"#
        site.network.trouble(
            "/api/x", Array(repeating: refusal("retry_later", advice), count: 9))
        await #expect(throws: ClientError.self) { try await client.send(request) }
        #expect(site.network.count("/api/x") == 5)
        #expect(site.clock.sleeps == [3, 4.5, 5, 5])
        site.network.trouble("/api/x", [refusal("sign_again", #"{"after":0,"max":0}"#)])
        await #expect(throws: ClientError.self) { try await client.send(request) }
        #expect(site.network.count("/api/x") == 6)
    }

    @Test("it takes nothing that makes no sense")
    func absurd() async throws {
        let advice = #"{"after":-5,"backoff":-1,"max":1000000,"longest":1e99}"#
        site.network.trouble(
            "/api/x", Array(repeating: refusal("retry_later", advice), count: 99))
        await #expect(throws: ClientError.self) { try await client.send(request) }
        #expect(site.network.count("/api/x") == 10)
        #expect(site.clock.sleeps.allSatisfy { $0 == 0 })
    }

    @Test("it makes no second new key sooner than the answer says")
    func newKeys() async throws {
        #expect(try await client.send(request).1.statusCode == 200)
        for (wait, keys) in [(TimeInterval(0), 2), (50, 2), (20, 3)] {
            site.clock.advance(wait)
            site.network.trouble(
                "/api/x",
                [refusal("attest_again", #"{"after":0,"max":2,"new_key_after":60}"#)])
            _ = try? await client.send(request)
            #expect(site.service.keyCount == keys)
        }
    }
}
