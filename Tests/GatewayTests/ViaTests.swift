import EventLoop
import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Via")
struct ViaTests {}

extension ViaTests {
    private static func upstreams(port: UInt16) -> [UpstreamSettings] {
        [UpstreamSettings(name: "api", servers: [.tcp(host: "127.0.0.1", port: port)])]
    }

    @Test("both directions name the hop, behind those that were there before")
    func named() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in
            .response(fields: [("Via", "1.0 inner")])
        })
        let fields = [("Via", "1.1 outer")]
        let answer = try gateway.client().exchange("GET", "/x", fields: fields)
        let name = String(decoding: gateway.hub.viaName, as: UTF8.self)
        let seen = try #require(gateway.upstream.requests.first).message
        #expect(
            seen.fields.filter { $0.name == "Via" }.map(\.value) == ["1.1 outer", "1.1 \(name)"])
        let told = answer.fields.filter { $0.name == "Via" }.map(\.value)
        #expect(told == ["1.0 inner", "1.1 sallyport"])
    }

    @Test("a request that has been here before is refused, whatever stands around the name")
    func loop() throws {
        let gateway = try GatewayUnderTest()
        let name = String(decoding: gateway.hub.viaName, as: UTF8.self)
        let client = try gateway.client()
        for value in ["1.1 \(name)", "1.1 a, 2 \(name) (x), 1.1 b"] {
            let answer = try client.exchange("GET", "/x", fields: [("Via", value)])
            #expect(answer.status == 508)
            #expect(answer.code == "loop_detected")
        }
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("a gateway whose upstream is itself ends the loop at once")
    func itself() throws {
        let gateway = try GatewayUnderTest()
        let port = gateway.port
        try gateway.reload { $0.upstreams = Self.upstreams(port: port) }
        #expect(try gateway.client().exchange("GET", "/x").status == 508)
    }

    @Test("a chain of gateways is no loop")
    func chain() throws {
        let inner = try GatewayUnderTest()
        let port = inner.port
        let outer = try GatewayUnderTest { $0.upstreams = Self.upstreams(port: port) }
        let answer = try outer.client().exchange("GET", "/x")
        #expect(answer.status == 200)
        #expect(answer.fields.count { $0.name == "Via" } == 2)
        #expect(inner.upstream.requests.count == 1)
    }

    @Test("a route that removes Via adds none")
    func removed() throws {
        let gateway = try GatewayUnderTest { settings in
            for index in settings.routes.indices where settings.routes[index].name == "open" {
                settings.routes[index].requestHeaders.remove = ["via"]
                settings.routes[index].responseHeaders.remove = ["via"]
            }
        }
        let answer = try gateway.client().exchange("GET", "/x", fields: [("Via", "1.1 outer")])
        #expect(answer["Via"] == nil)
        #expect(gateway.upstream.requests.first?["Via"] == nil)
    }
}
