import EventLoop
import Foundation
import GatewayTesting
import HTTP
import Settings
import Testing

@testable import Gateway

@Suite("Listeners that a reload changes")
struct ListenerReloadTests {}

extension ListenerReloadTests {
    private static let spoofed = ("X-Forwarded-For", "203.0.113.9")

    private func forwardedFor(_ gateway: GatewayUnderTest) -> [String?] {
        gateway.upstream.requests.map { $0["X-Forwarded-For"] }
    }

    @Test("a kept-alive connection of a proxy no longer trusted gets one answer, as a stranger")
    func trustOfKeptAlive() throws {
        let gateway = try GatewayUnderTest()
        let proxy = try RawClient(port: gateway.trustedPort)
        #expect(try proxy.exchange("GET", "/1", fields: [Self.spoofed])["Connection"] == nil)
        try gateway.reload(listener: 1) { $0.trustedProxies = [] }
        let last = try proxy.exchange("GET", "/2", fields: [Self.spoofed])
        #expect(last.status == 200)
        #expect(last["Connection"] == "close")
        #expect(forwardedFor(gateway) == ["203.0.113.9, 127.0.0.1", "127.0.0.1"])
        #expect(try proxy.receiveToEnd().isEmpty)
    }

    @Test("a head that was not whole before the reload is judged after it")
    func halfHead() throws {
        let gateway = try GatewayUnderTest()
        let proxy = try RawClient(port: gateway.trustedPort)
        try proxy.send("GET /1 HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n")
        // The worker is done with what came before this.
        #expect(try RawClient(port: gateway.trustedPort).exchange("OPTIONS", "*").status == 200)
        try gateway.reload(listener: 1) { $0.trustedProxies = [] }
        try proxy.send("\r\n")
        #expect(try proxy.receive()["Connection"] == "close")
        #expect(forwardedFor(gateway) == ["127.0.0.1"])
    }

    @Test("HTTP/2: GOAWAY, and a stream that comes meanwhile is a stranger's")
    func http2() throws {
        let gateway = try GatewayUnderTest()
        try gateway.reload(listener: 1) { $0.protocols = [.http1, .http2] }
        let proxy = try HTTP2Client(port: gateway.trustedPort)
        #expect(try proxy.exchange(1, fields: [("x-forwarded-for", "203.0.113.9")]).status == 200)
        try gateway.reload(listener: 1) { $0.trustedProxies = [] }
        let answer = try proxy.exchange(3, fields: [("x-forwarded-for", "203.0.113.9")])
        #expect(answer.status == 200)
        #expect(!proxy.goAways.isEmpty)
        #expect(forwardedFor(gateway) == ["203.0.113.9, 127.0.0.1", "127.0.0.1"])
        try proxy.receiveToEnd()
    }

    @Test("a PROXY header counts no longer than its sender's word: no further request is served")
    func proxyHeader() throws {
        let gateway = try GatewayUnderTest()
        let begun = try RawClient(port: gateway.proxiedPort)
        try begun.send("PROXY TCP4 192.0.2.7")
        let proxy = try RawClient(port: gateway.proxiedPort)
        try proxy.send("PROXY TCP4 192.0.2.7 198.51.100.2 1 2\r\n")
        #expect(try proxy.exchange("GET", "/1").status == 200)
        try gateway.reload(listener: 3) { $0.proxyProtocol = [] }
        #expect(try proxy.receiveToEnd().isEmpty)
        #expect(try begun.receiveToEnd().isEmpty)
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("HTTP/2 behind a PROXY header: GOAWAY at once, what is under way is answered")
    func proxyHeaderHTTP2() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        try gateway.reload(listener: 1) {
            $0.protocols = [.http2]
            $0.proxyProtocol = $0.trustedProxies
        }
        let proxy = try HTTP2Client(port: gateway.trustedPort, settings: nil)
        try proxy.socket.send(
            Array("PROXY TCP4 192.0.2.7 198.51.100.2 1 2\r\n".utf8) + HTTP2Client.preface)
        try proxy.send(.settings([]))
        try proxy.request(1)
        try gateway.upstream.waitForRequests(1)
        try gateway.reload(listener: 1) { $0.proxyProtocol = [] }
        gate.open()
        #expect(try proxy.answer(1).status == 200)
        try proxy.receiveToEnd()
        #expect(proxy.goAways.last?.lastStream == 1)
    }

    @Test("a request under way is answered, and its connection ends with it")
    func underWay() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let clients = try [gateway.port, gateway.trustedPort].map { try RawClient(port: $0) }
        for client in clients { try client.send("GET", "/x") }
        try gateway.upstream.waitForRequests(2)
        // One is served otherwise now, the other not at all.
        try gateway.reload(listener: 0) { $0.allow = [.pathParameters] }
        try gateway.reload(listener: 1, nil)
        gate.open()
        for client in clients {
            let answer = try client.receive()
            #expect(answer.status == 200)
            #expect(answer["Connection"] == "close")
            #expect(try client.receiveToEnd().isEmpty)
        }
        #expect(throws: RawSocketError.self) { try RawClient(port: gateway.trustedPort) }
    }

    @Test("who asks for nothing more is let go")
    func idle() throws {
        let gateway = try GatewayUnderTest()
        let clients = try (0..<2).map { _ in try gateway.client() }
        #expect(try clients[0].exchange("GET", "/x").status == 200)
        try gateway.reload(listener: 0) { $0.allow = [.pathParameters] }
        for client in clients { #expect(try client.receiveToEnd().isEmpty) }
    }

    @Test("connections of a listener that did not change live on")
    func unchanged() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/1").status == 200)
        try gateway.reload(listener: 1) { $0.trustedProxies = [] }
        #expect(try client.exchange("GET", "/2")["Connection"] == nil)
        #expect(try client.exchange("GET", "/3").status == 200)
    }

    @Test("a raised limit of connections wakes a listener that waits for room")
    func raisedLimit() throws {
        let stepped = try SteppedWorker { $0.limits.connectionCountMax = 1 }
        let worker = stepped.worker
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let descriptor = try Socket.listen(on: any)
        let port = try #require(Socket.localAddress(descriptor)?.port)
        let context = ListenerContext(ListenerSettings(bind: .tcp(host: "127.0.0.1", port: port)))
        worker.receive(.listen([BoundListener(context: context, descriptor: descriptor)]))
        let client = try RawClient(port: port)
        worker.acceptors[0].descriptorIsReadable()
        #expect(worker.acceptors[0].isPaused)
        var settings = worker.services.site.settings
        settings.limits.connectionCountMax = 2
        let site = try Site(
            settings: settings, challengeKeys: [GatewayUnderTest.challengeKey], generation: 1)
        worker.receive(
            .reload(
                WorkerUpdate(
                    site: site, listeners: [BoundListener(context: context)],
                    reports: try Mailbox(countMax: 1))))
        #expect(!worker.acceptors[0].isPaused)
        worker.acceptors[0].descriptorIsReadable()
        #expect(worker.clients.count == 2)
        for connection in worker.clients { connection.lose() }
        worker.receive(.drain)
        withExtendedLifetime(client) {}
    }
}
