import AppAttest
import AppAttestTesting
import Attestation
import EventLoop
import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Reload")
struct ReloadTests {}

extension ReloadTests {
    @Test("apps in another order are not mixed up by a request whose key is being looked up")
    func appsReordered() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, appID: GatewayUnderTest.otherAppID)
        let fields = try device.signedFields("GET", "/attested/x")
        let gate = Gate()
        gateway.registry.hold(until: gate)
        try device.client.send("GET", "/attested/x", fields: fields)
        try gateway.registry.waitForCalls(1)
        try gateway.reload { $0.apps.reverse() }
        gate.open()
        #expect(try device.client.receive().status == 200)
        let request = try #require(gateway.upstream.requests.first)
        #expect(request["X-Attest-App"] == GatewayUnderTest.otherAppID)
    }

    @Test("an upstream whose name has another address now is connected to anew")
    func upstreamMoved() throws {
        let gateway = try GatewayUnderTest()
        let moved = try RecordingUpstream()
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/1").status == 200)
        let server = gateway.settings.upstreams[0].servers[0].endpoint
        gateway.names.set(server, ports: [moved.port])
        try gateway.reload { _ in }
        #expect(try client.exchange("GET", "/2").status == 200)
        #expect(moved.requests.map(\.target) == ["/2"])
        try gateway.upstream.waitForClose(ofConnection: 0)
    }

    @Test("a reload that changes nothing of an upstream keeps its connections")
    func upstreamKept() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/1").status == 200)
        try gateway.reload { $0.limits.bodyMemoryByteCountMax = 4096 }
        #expect(try client.exchange("GET", "/2").status == 200)
        #expect(gateway.upstream.requests.map(\.connection) == [0, 0])
    }

    @Test("idle connections to an upstream that a reload changes or removes end at once")
    func idleConnections() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/1").status == 200)
        try gateway.reload { $0.upstreams[0].idleConnectionCountMax = 7 }
        try gateway.upstream.waitForClose(ofConnection: 0)
        #expect(try client.exchange("GET", "/2").status == 200)
        try gateway.reload { $0.upstreams[0].name = "other" }
        try gateway.upstream.waitForClose(ofConnection: 1)
    }

    @Test("a leased connection to an upstream that a reload changes ends with its exchange")
    func leasedConnection() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let client = try gateway.client()
        try client.send("GET", "/1")
        try gateway.upstream.waitForRequests(1)
        try gateway.reload { $0.upstreams[0].connectionCountMax = 7 }
        gate.open()
        #expect(try client.receive().status == 200)
        try gateway.upstream.waitForClose(ofConnection: 0)
        #expect(try client.exchange("GET", "/2").status == 200)
        #expect(gateway.upstream.requests.map(\.connection) == [0, 1])
    }

    @Test("a reload that leaves the apps alone keeps what is known of keys")
    func keysKept() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/1").status == 200)
        let calls = gateway.registry.calls
        try gateway.reload { $0.limits.bodyMemoryByteCountMax = 4096 }
        #expect(try device.request("GET", "/attested/2").status == 200)
        #expect(gateway.registry.calls == calls)
        try gateway.reload { $0.apps.reverse() }
        #expect(try device.request("GET", "/attested/3").status == 200)
        #expect(gateway.registry.calls.count == calls.count + 1)
    }

    @Test("a worker that drains takes no listener, and closes what it is handed")
    func draining() throws {
        let stepped = try SteppedWorker()
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let descriptor = try Socket.listen(on: any)
        let port = try #require(Socket.localAddress(descriptor)?.port)
        stepped.worker.receive(.drain)
        let context = stepped.worker.services.idleListener
        stepped.worker.receive(
            .reload(
                WorkerUpdate(
                    site: stepped.worker.services.site,
                    listeners: [BoundListener(context: context, descriptor: descriptor)],
                    reports: try Mailbox(countMax: 1))))
        #expect(throws: RawSocketError.self) { try RawClient(port: port) }
    }

    @Test("a key of an app that a reload adds passes no route of the configuration before it")
    func appOfNewerConfiguration() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.apps.removeAll { $0.id == GatewayUnderTest.otherAppID }
            settings.routes.insert(
                GatewayUnderTest.route("lax", "/lax/") {
                    $0.mode = .enforce
                    $0.onInvalid = .pass
                    $0.onStoreFailure = .pass
                }, at: 0)
        }
        let added = try EnrolledDevice(gateway, appID: GatewayUnderTest.otherAppID)
        for path in ["/attested/x", "/lax/x"] {
            try gateway.reload { $0.apps.removeAll { $0.id == GatewayUnderTest.otherAppID } }
            let gate = Gate()
            let fields = try added.signedFields("GET", path)
            let callCount = gateway.registry.calls.count
            gateway.registry.hold(added.device.keyID, until: gate)
            try added.client.send("GET", path, fields: fields)
            try gateway.registry.waitForCalls(callCount + 1)
            try gateway.reload {
                $0.apps.append(
                    AppIdentity(id: GatewayUnderTest.otherAppID, environments: [.production]))
            }
            gate.open()
            let refused = try added.client.receive()
            #expect(refused.status == 503 && refused.member("action") == "retry_later", "\(path)")
            #expect(refused.member("assertion") == "unspent")
            #expect(gateway.upstream.requests.isEmpty)
        }
        // By the configuration that knows the app the same key passes.
        #expect(try added.request("GET", "/attested/x").status == 200)
    }

    @Test("a request that began before a reload ends by the configuration it began with")
    func inProgress() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let other = try RecordingUpstream { _ in .response(body: "other") }
        let busy = try gateway.client()
        try busy.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        let probe = try gateway.client()
        #expect(try probe.exchange("OPTIONS", "*").status == 200)
        try gateway.reload {
            $0.upstreams = [
                UpstreamSettings(
                    name: "other", servers: [.tcp(host: "127.0.0.1", port: other.port)])
            ]
            $0.routes = [GatewayUnderTest.route("new", "/") { _ in }]
        }
        #expect(try probe.exchange("GET", "/y").bodyText == "other")
        try busy.send("cd")
        try gateway.upstream.waitForRequests(1)
        gate.open()
        #expect(try busy.receive().bodyText == "hello\n")
        try gateway.upstream.waitForClose(ofConnection: 0)
        #expect(try busy.exchange("GET", "/z").bodyText == "other")
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed ok": 1])
        #expect(gateway.outcomes(of: "new") == ["passed ok": 2])
    }
}
