import EventLoop
import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

/// A gateway in front of several recording servers.
private func gateway(
    _ upstreams: [RecordingUpstream], _ configure: (inout UpstreamSettings) -> Void = { _ in }
) throws -> GatewayUnderTest {
    try GatewayUnderTest {
        $0.upstreams[0].servers = upstreams.map {
            UpstreamServer(.tcp(host: "127.0.0.1", port: $0.port))
        }
        configure(&$0.upstreams[0])
    }
}

private func three() throws -> [RecordingUpstream] {
    try (0..<3).map { number in try RecordingUpstream { _ in .response(body: "\(number)") } }
}

@Suite("Several servers")
struct UpstreamServerTests {}

extension UpstreamServerTests {
    @Test("requests go round by weight")
    func weights() throws {
        let upstreams = try three()
        let gateway = try gateway(upstreams) {
            $0.servers[0].weight = 3
            $0.servers[2].isBackup = true
        }
        let client = try gateway.client()
        for _ in 0..<40 { #expect(try client.exchange("GET", "/x").status == 200) }
        #expect(upstreams.map { $0.requests.count } == [30, 10, 0])
        // Each server's connection is used again.
        #expect(upstreams.map(\.connectionCount) == [1, 1, 0])
    }

    @Test("the busier server gets fewer requests under least_connections")
    func leastConnections() throws {
        let gate = Gate()
        let upstreams = try three()
        upstreams[0].answer { _ in .response(after: gate) }
        let gateway = try gateway(upstreams) { $0.balance = .leastConnections }
        let busy = try gateway.client()
        try busy.send("GET", "/held")
        try upstreams[0].waitForRequests(1)
        let client = try gateway.client()
        for _ in 0..<10 { #expect(try client.exchange("GET", "/x").status == 200) }
        #expect(upstreams.map { $0.requests.count } == [1, 5, 5])
        gate.open()
        #expect(try busy.receive().status == 200)
    }

    @Test("one key goes to one server, others elsewhere")
    func hashKey() throws {
        let upstreams = try three()
        let gateway = try gateway(upstreams) { $0.balance = .hashKey }
        var homes: Set<String> = []
        for _ in 0..<24 {
            let device = try EnrolledDevice(gateway)
            let home = try device.request("GET", "/attested/x").bodyText
            #expect(try device.request("GET", "/attested/y").bodyText == home)
            homes.insert(home)
        }
        #expect(homes.count == 3)
        // Without a key the address decides.
        let open = try (0..<6).map { _ in try gateway.client().exchange("GET", "/x").bodyText }
        #expect(Set(open).count == 1)
    }

    @Test("a server that dies fails no idempotent request, is left out, and comes back")
    func ejectionAndReturn() throws {
        let upstreams = try three()
        let gateway = try gateway(upstreams) {
            $0.ejection.failureCount = 2
            $0.ejection.time = .seconds(3600)
            $0.ejection.timeMax = .seconds(3600)
        }
        let client = try gateway.client()
        for _ in 0..<6 { #expect(try client.exchange("GET", "/x").status == 200) }
        upstreams[1].stop()
        for _ in 0..<30 { #expect(try client.exchange("GET", "/x").status == 200) }
        let states = gateway.hub.currentGroups[0].servers
        #expect(states.map(\.isEjected) == [false, true, false])
        let page = try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange(
            "GET", "/metrics"
        ).bodyText
        let label = "{upstream=\"api\",server=\"127.0.0.1:\(upstreams[1].port)\"}"
        #expect(page.contains("sallyport_upstream_server_up\(label) 0\n"))
        #expect(page.contains("sallyport_upstream_failures_total\(label) 2\n"))
        // A shorter time is another setting: nothing of the old verdict stays.
        try gateway.reload {
            $0.upstreams[0].ejection.time = .milliseconds(1)
            $0.upstreams[0].ejection.timeMax = .milliseconds(2)
        }
        for _ in 0..<20 { #expect(try client.exchange("GET", "/x").status == 200) }
        let back = try RecordingUpstream(port: upstreams[1].port) { _ in .response(body: "back") }
        try repeatWhile(back.requests.isEmpty) { () throws in
            #expect(try client.exchange("GET", "/x").status == 200)
        }
        #expect(gateway.hub.currentGroups[0].servers.map(\.isEjected) == [false, false, false])
    }

    @Test(
        "a server that comes back gets its share step by step",
        arguments: [BalancePolicy.roundRobin, .leastConnections])
    func slowStart(balance: BalancePolicy) throws {
        let upstreams = try Array(three()[..<2])
        let gateway = try gateway(upstreams) {
            $0.balance = balance
            $0.slowStart = .seconds(3600)
            $0.ejection.failureCount = 1
            $0.ejection.time = .milliseconds(1)
            $0.ejection.timeMax = .milliseconds(2)
        }
        let client = try gateway.client()
        for _ in 0..<20 { #expect(try client.exchange("GET", "/x").status == 200) }
        #expect(upstreams[1].requests.count == 10)
        upstreams[1].stop()
        let state = gateway.hub.currentGroups[0].servers[1]
        try repeatWhile(!state.isEjected) { () throws in
            #expect(try client.exchange("GET", "/x").status == 200)
        }
        let back = try RecordingUpstream(port: upstreams[1].port) { _ in .response() }
        try repeatWhile(state.isEjected) { () throws in
            #expect(try client.exchange("GET", "/x").status == 200)
        }
        let trialCount = back.requests.count
        for _ in 0..<40 { #expect(try client.exchange("GET", "/x").status == 200) }
        // One turn may be left over from before.
        #expect(back.requests.count - trialCount <= 1)
    }

    @Test("where every server is out, all are tried")
    func allOut() throws {
        let upstreams = try three()
        let gateway = try gateway(upstreams)
        for server in gateway.hub.currentGroups[0].servers { server.isDown = true }
        let client = try gateway.client()
        for _ in 0..<6 { #expect(try client.exchange("GET", "/x").status == 200) }
        #expect(upstreams.map { $0.requests.count } == [2, 2, 2])
    }

    @Test("a server with a limit of its own leaves the rest to the others")
    func serverLimit() throws {
        let gate = Gate()
        let upstreams = try three()
        for upstream in upstreams { upstream.answer { _ in .response(after: gate) } }
        let gateway = try gateway(upstreams) {
            $0.servers[0].connectionCountMax = 1
            $0.servers[1].connectionCountMax = 1
            $0.servers[2].connectionCountMax = 2
        }
        let clients = try (0..<4).map { _ in try gateway.client() }
        for client in clients { try client.send("GET", "/x") }
        for (upstream, count) in zip(upstreams, [1, 1, 2]) { try upstream.waitForRequests(count) }
        let refused = try gateway.client().exchange("GET", "/x")
        #expect(refused.status == 503)
        #expect(refused["Retry-After"] == "1")
        gate.open()
        for client in clients { #expect(try client.receive().status == 200) }
    }

    @Test("names: changed addresses are taken without a reload, a failure keeps the old ones")
    func names() throws {
        let upstreams = try three()
        let gateway = try gateway(upstreams)
        try gateway.reload {
            let name = Endpoint.tcp(host: "api.internal", port: 80)
            $0.upstreams[0].servers = [UpstreamServer(name)]
            gateway.names.set(name, ports: [upstreams[0].port, upstreams[1].port])
        }
        let settings = gateway.settings.upstreams[0]
        let name = settings.servers[0].endpoint
        let client = try gateway.client()
        for _ in 0..<4 { #expect(try client.exchange("GET", "/1").status == 200) }
        #expect(upstreams.map { $0.requests.count } == [2, 2, 0])
        // Shuffled answers are no change.
        gateway.names.set(name, ports: [upstreams[1].port, upstreams[0].port])
        #expect(!gateway.hub.refresh(settings))
        gateway.names.set(name, ports: [upstreams[1].port, upstreams[2].port])
        #expect(gateway.hub.refresh(settings))
        gateway.post(.serversChanged)
        try upstreams[0].waitForClose(ofConnection: 0)
        for _ in 0..<4 { #expect(try client.exchange("GET", "/2").status == 200) }
        #expect(upstreams.map { $0.requests.count } == [2, 4, 2])
        // The server that stayed kept its connection.
        #expect(upstreams.map(\.connectionCount) == [1, 1, 1])
        gateway.names.fail(name)
        #expect(!gateway.hub.refresh(settings))
        for _ in 0..<4 { #expect(try client.exchange("GET", "/3").status == 200) }
    }
}

@Suite("Servers that are not up")
struct ServersDownTests {}

extension ServersDownTests {
    private func metrics(_ gateway: GatewayUnderTest) throws -> String {
        try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange("GET", "/metrics")
            .bodyText
    }

    private func up(_ gateway: GatewayUnderTest, _ server: String) throws -> Bool? {
        let sample = "sallyport_upstream_server_up{upstream=\"api\",server=\"\(server)\"} "
        let line = try metrics(gateway).split(separator: "\n").first { $0.hasPrefix(sample) }
        return line.map { $0.hasSuffix(" 1") }
    }

    @Test("a server that fails every request is not shown as up, also where it is the only one")
    func onlyServer() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in UpstreamAnswer([], then: .close) })
        let server = "127.0.0.1:\(gateway.upstream.port)"
        let client = try gateway.client()
        #expect(try up(gateway, server) == true)
        for _ in 0..<3 { #expect(try client.exchange("POST", "/x").status == 502) }
        #expect(try up(gateway, server) == false)
        let page = try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange("GET", "/")
            .bodyText
        #expect(page.contains("<td>\(server)</td><td>failing</td>"))
        gateway.upstream.answer { _ in .response() }
        #expect(try client.exchange("POST", "/x").status == 200)
        #expect(try up(gateway, server) == true)
    }

    @Test("a name without an address: its server is down, the others go on, until it has one")
    func unresolved() throws {
        let names = ScriptedNames()
        let name = Endpoint.tcp(host: "api.internal", port: 80)
        names.fail(name)
        let gateway = try GatewayUnderTest(upstream: { _ in .response() }, names: names) {
            $0.upstreams[0].servers.append(UpstreamServer(name))
            $0.upstreams.append(UpstreamSettings(name: "lone", servers: [name]))
            $0.routes.insert(GatewayUnderTest.route("lone", "/lone/") { _ in }, at: 0)
            $0.routes[0].upstream = 1
        }
        let client = try gateway.client()
        for _ in 0..<4 { #expect(try client.exchange("GET", "/x").status == 200) }
        let refused = try client.exchange("GET", "/lone/x")
        #expect(refused.status == 503)
        #expect(refused["Retry-After"] == "1")
        #expect(try up(gateway, "api.internal:80") == false)
        // A reload waits for no name either.
        try gateway.reload { $0.limits.bodyMemoryByteCountMax = 4096 }
        let other = try RecordingUpstream()
        names.set(name, ports: [other.port])
        for settings in gateway.settings.upstreams { #expect(gateway.hub.refresh(settings)) }
        gateway.post(.serversChanged)
        #expect(try client.exchange("GET", "/lone/x").status == 200)
        #expect(try up(gateway, "api.internal:80") == nil)
        #expect(try up(gateway, "127.0.0.1:\(other.port)") == true)
    }

    @Test("a lack of descriptors is no failure of a server, and the admin listener answers")
    func noDescriptors() throws {
        // Every descriptor of a client or an upstream is one of those that are held back.
        let gateway = try GatewayUnderTest(
            upstream: { _ in .response() }, descriptors: DescriptorReserve(limit: 1)
        ) { $0.upstreams[0].ejection.failureCount = 1 }
        let client = try gateway.client()
        for _ in 0..<3 {
            let refused = try client.exchange("GET", "/x")
            #expect(refused.status == 503)
            #expect(refused["Retry-After"] == "1")
        }
        let waiting = try gateway.client()
        try waiting.send("GET", "/waits")
        for _ in 0..<3 {
            let admin = try RawClient(port: gateway.adminPort, host: "127.0.0.1")
            #expect(try admin.exchange("GET", "/livez").status == 200)
        }
        let server = "127.0.0.1:\(gateway.upstream.port)"
        #expect(try up(gateway, server) == true)
        let page = try metrics(gateway)
        let label = "{upstream=\"api\",server=\"\(server)\"}"
        #expect(page.contains("sallyport_upstream_failures_total\(label) 0\n"))
        #expect(gateway.outcomes(of: "open") == ["refused upstream_busy": 3])
    }
}

@Suite("Retries")
struct RetryTests {}

extension RetryTests {
    @Test("an unanswered idempotent request goes to another server, others never do")
    func brokenFresh() throws {
        let upstreams = try three()
        upstreams[0].answer { _ in UpstreamAnswer([], then: .close) }
        let gateway = try gateway(upstreams) { $0.ejection.failureCount = 0 }
        let client = try gateway.client()
        for _ in 0..<6 { #expect(try client.exchange("GET", "/get").status == 200) }
        var statuses: [Int: Int] = [:]
        for _ in 0..<6 { statuses[try client.exchange("POST", "/p").status, default: 0] += 1 }
        #expect(statuses == [200: 4, 502: 2])
        let posts = upstreams.map { $0.requests.count { $0.method == "POST" } }
        #expect(posts.reduce(0, +) == 6)
    }

    @Test("a request with an assertion is not sent again unless it was not sent at all")
    func asserted() throws {
        let upstreams = try three()
        for upstream in upstreams[..<2] {
            upstream.answer { _ in UpstreamAnswer([], then: .close) }
        }
        let gateway = try gateway(upstreams) { $0.ejection.failureCount = 0 }
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/1").status == 502)
        #expect(upstreams.map { $0.requests.count }.reduce(0, +) == 1)
        // Nothing is sent to servers that take no connection.
        for upstream in upstreams[..<2] { upstream.stop() }
        for number in 2..<6 {
            #expect(try device.request("GET", "/attested/\(number)").status == 200)
        }
        #expect(upstreams[2].requests.count == 4)
    }

    @Test("tries have a number and a budget")
    func bounds() throws {
        let upstreams = try three()
        for upstream in upstreams { upstream.answer { _ in UpstreamAnswer([], then: .close) } }
        let gateway = try gateway(upstreams) {
            $0.ejection.failureCount = 0
            $0.retries.countMax = 1
            $0.retries.budgetPercent = 0
        }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/x").status == 502)
        #expect(upstreams.map { $0.requests.count } == [1, 0, 0])
        #expect(gateway.hub.meters[0].value(.retriesDenied) == 1)
        try gateway.reload { $0.upstreams[0].retries.budgetPercent = 100 }
        #expect(try client.exchange("GET", "/x").status == 502)
        #expect(upstreams.map { $0.requests.count }.reduce(0, +) == 3)
        #expect(gateway.hub.meters[0].value(.retries) == 1)
        try gateway.reload { $0.upstreams[0].retries.countMax = 9 }
        #expect(try client.exchange("GET", "/x").status == 502)
        // Never twice to one server.
        #expect(upstreams.map { $0.requests.count }.reduce(0, +) == 6)
    }

    @Test("a slow try is given up for another server where that is set")
    func attemptTimeout() throws {
        let gate = Gate()
        defer { gate.open() }
        let upstreams = try three()
        for upstream in upstreams[..<2] { upstream.answer { _ in .response(after: gate) } }
        let gateway = try gateway(upstreams) { $0.retries.timeout = .milliseconds(50) }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/x").bodyText == "2")
        #expect(upstreams.map { $0.requests.count } == [1, 1, 1])
    }

    @Test(
        "a try that may not be repeated has all of the response time-out",
        arguments: [
            (method: "GET", body: "", mayRepeat: true), ("PUT", "ab", true),
            ("PUT", String(repeating: "a", count: 1025), false), ("POST", "ab", false),
        ])
    func notRepeatable(method: String, body: String, mayRepeat: Bool) throws {
        let stepped = try SteppedWorker {
            $0.upstreams[0].retries.timeout = .milliseconds(50)
            $0.routes[0].streamsBody = true
            $0.limits.bodyMemoryByteCountMax = 1024
        }
        let framing = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        stepped.send("\(method) / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\(body)")
        try stepped.beginWhatCame()
        let exchange = try #require(stepped.connection.exchange)
        let timeouts = try #require(stepped.leased?.pool.timeouts)
        let expected = mayRepeat ? timeouts.attempt : timeouts.response
        #expect(exchange.headNanoseconds(timeouts) == expected)
    }
}

@Suite("Waiting for a connection")
struct ConnectionQueueTests {}

extension ConnectionQueueTests {
    private func busyGateway(
        _ gate: Gate, onClientClose: ClientCloseAction = .finish,
        _ configure: (inout QueueSettings) -> Void
    ) throws -> (GatewayUnderTest, RawClient) {
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) }) {
            $0.upstreams[0].connectionCountMax = 1
            $0.upstreams[0].queue.timeout = .seconds(60)
            configure(&$0.upstreams[0].queue)
            for index in $0.routes.indices { $0.routes[index].onClientClose = onClientClose }
        }
        let first = try gateway.client()
        try first.send("GET", "/first")
        try gateway.upstream.waitForRequests(1)
        return (gateway, first)
    }

    /// Waits until the worker has handled everything sent before.
    private func settle(_ gateway: GatewayUnderTest) throws {
        _ = try RawClient(port: gateway.adminPort, host: "127.0.0.1").exchange("GET", "/livez")
    }

    @Test("requests wait in order, those beyond the line are refused at once")
    func order() throws {
        let gate = Gate()
        let (gateway, first) = try busyGateway(gate) { $0.requestCountMax = 2 }
        let waiting = try (1...2).map { number in
            let client = try gateway.client()
            try client.send("GET", "/\(number)")
            try settle(gateway)
            return client
        }
        let refused = try gateway.client().exchange("GET", "/3")
        #expect(refused.status == 503)
        #expect(refused["Retry-After"] == "1")
        gate.open()
        #expect(try first.receive().status == 200)
        for client in waiting { #expect(try client.receive().status == 200) }
        #expect(gateway.upstream.requests.map(\.target) == ["/first", "/1", "/2"])
        #expect(gateway.upstream.connectionCount == 1)
    }

    @Test("a request that has no connection does not use up the trial of an ejected server")
    func trial() throws {
        let clock = ManualClock(now: .now(), wallMilliseconds: WallClock.milliseconds())
        let stepped = try SteppedWorker(clock: clock) {
            $0.upstreams[0].servers.append(UpstreamServer(.tcp(host: "127.0.0.1", port: 1)))
            $0.upstreams[0].connectionCountMax = 1
            $0.upstreams[0].ejection.failureCount = 1
        }
        try stepped.begin()
        let exchange = try #require(stepped.connection.exchange)
        let pool = try #require(exchange.forwarder.pool)
        let ejected = pool.group.servers[1]
        #expect(pool.group.failed(ejected, now: clock.now.nanoseconds) != nil)
        clock.now = clock.now + .seconds(3600)
        guard case .refused = pool.lease(for: exchange) else {
            Issue.record("there is a connection")
            return
        }
        #expect(pool.group.mayUse(ejected, now: clock.now.nanoseconds))
    }

    @Test("who waits too long is refused")
    func timeout() throws {
        let gate = Gate()
        defer { gate.open() }
        let (gateway, first) = try busyGateway(gate) {
            $0.requestCountMax = 2
            $0.timeout = .milliseconds(100)
        }
        let refused = try gateway.client().exchange("GET", "/1")
        // Its place would be free if it had left.
        _ = first
        #expect(refused.status == 503)
        #expect(refused["Retry-After"] == "1")
        // Else the gateway would wait for the first request when it is stopped.
        gate.open()
        gateway.stop()
    }

    @Test("a client that leaves gives up its place", arguments: [true, false])
    func leaves(byReset: Bool) throws {
        let gate = Gate()
        // A client that closes may have closed its sending side alone.
        let (gateway, first) = try busyGateway(gate, onClientClose: byReset ? .finish : .cancel) {
            $0.requestCountMax = 1
        }
        let leaving = try gateway.client()
        try leaving.send("GET", "/leaves")
        try settle(gateway)
        if byReset { leaving.socket.reset() } else { leaving.socket.close() }
        try repeatWhile(gateway.outcomes(of: "open")["passed client_closed"] == nil) {
            try settle(gateway)
        }
        let next = try gateway.client()
        try next.send("GET", "/next")
        try settle(gateway)
        gate.open()
        #expect(try first.receive().status == 200)
        #expect(try next.receive().status == 200)
        #expect(gateway.upstream.requests.map(\.target) == ["/first", "/next"])
    }
}
