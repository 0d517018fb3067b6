import AppAttestTesting
import EventLoop
import GatewayTesting
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("Silence about revocations")
struct RevocationSilenceTests {}

extension RevocationSilenceTests {
    @Test("no answer is cached while nobody hears of changes")
    func uncached() throws {
        let hearing = ChangeHearing()
        let registry = ScriptedRegistry(hearing: hearing)
        let gateway = try GatewayUnderTest(registry: registry)
        let device = try EnrolledDevice(gateway)
        func lookUpCount(_ requestCount: Int) throws -> Int {
            let before = registry.calls.count { $0 == .find(device.device.keyID) }
            for _ in 0..<requestCount {
                #expect(try device.request("GET", "/attested/x").status == 200)
            }
            return registry.calls.count { $0 == .find(device.device.keyID) } - before
        }
        _ = try lookUpCount(1)
        #expect(try lookUpCount(3) == 0)
        // As the registry does it.
        hearing.expire()
        registry.tell(.everything)
        #expect(try lookUpCount(3) == 3)
        hearing.heard(asOf: .now())
        #expect(try lookUpCount(3) == 1)
    }

    @Test("is on every page, and is no reason to be unready")
    func pages() throws {
        let hearing = ChangeHearing(since: MonotonicInstant(nanoseconds: 0))
        hearing.failed("registry: the user lacks a privilege")
        let gateway = try GatewayUnderTest(registry: ScriptedRegistry(hearing: hearing))
        let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
        let ready = try admin.exchange("GET", "/readyz")
        #expect(ready.status == 200)
        #expect(ready.bodyText.hasPrefix("ready\nrevocations unheard for "))
        let page = try admin.exchange("GET", "/status.json").bodyText
        #expect(page.contains("revocations_unheard"))
        #expect(page.contains("the user lacks a privilege."))
        let metric = "sallyport_revocations_age_seconds "
        let lines = try admin.exchange("GET", "/metrics").bodyText.split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix(metric) })
        #expect(try #require(Double(line.dropFirst(metric.count))) > 2)
        hearing.heard(asOf: .now())
        #expect(try admin.exchange("GET", "/readyz").bodyText == "ready\n")
        #expect(try !admin.exchange("GET", "/status.json").bodyText.contains("unheard"))
    }
}
