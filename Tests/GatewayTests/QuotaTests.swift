import AppAttestTesting
import EventLoop
import GatewayTesting
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Quotas")
struct QuotaTests {}

extension QuotaTests {
    private static func quota(
        _ name: String, by subject: Quota.Subject, limit: Int,
        of measure: Quota.Measure = .requests, missing: Int = 0
    ) -> Quota {
        Quota(
            name: name, subject: subject, period: QuotaPeriod(.month), limit: limit,
            measure: measure, missingCharge: missing)
    }

    private static func tokens(limit: Int, missing: Int = 0) throws -> Quota {
        let pointer = try #require(JSONPointer("/usage/total"))
        return quota("tokens", by: .address, limit: limit, of: .json(pointer), missing: missing)
    }

    /// A gateway whose attested and open routes have these quotas.
    private static func gateway(
        _ quotas: [Quota],
        upstream: @escaping RecordingUpstream.Script = { _ in .response() },
        configure: @escaping (inout Route) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest(upstream: upstream) { settings in
            settings.quotas = quotas
            for index in settings.routes.indices
            where ["attested", "open"].contains(settings.routes[index].name) {
                settings.routes[index].quotas = quotas.map(\.name)
                configure(&settings.routes[index])
            }
        }
    }

    /// A JSON answer that says that it cost so much.
    private static func costing(_ total: String, status: Int = 200) -> UpstreamAnswer {
        .response(
            status, fields: [("Content-Type", "application/json; charset=utf-8")],
            body: #"{"text":"a","usage":{"total":\#(total)}}"#)
    }

    /// What an answer says is left of a quota.
    private static func remaining(_ answer: HTTPMessage, of name: String) -> Int? {
        guard let field = answer["RateLimit"],
            let start = field.firstRange(of: "\"\(name)\";r=")?.upperBound
        else { return nil }
        return Int(field[start...].prefix { $0.isNumber })
    }

    @Test("a quota that comes to count something else begins its counts anew")
    func measures() throws {
        let pointers = try ["/usage/total", "/usage/cost"].map { try #require(JSONPointer($0)) }
        let measures = [.requests, .responseBytes] + pointers.map { Quota.Measure.json($0) }
        let names = measures.map {
            Self.quota("few", by: .app, limit: 1, of: $0).count(of: .unknown, around: 0).name
        }
        #expect(Set(names).count == 4)
    }

    // MARK: requests

    @Test("requests of a key pass up to the limit, then get 429 until the period ends")
    func limit() throws {
        let gateway = try Self.gateway(
            [Self.quota("few", by: .key, limit: 2)], configure: { $0.tellsQuotas = true })
        let device = try EnrolledDevice(gateway)
        for left in [1, 0] {
            let answer = try device.request("GET", "/attested/x")
            #expect(answer.status == 200)
            #expect(Self.remaining(answer, of: "few") == left)
            #expect(answer["RateLimit-Policy"]?.hasPrefix("\"few\";q=2;w=") == true)
            #expect(gateway.told("X-Attest-Quota-few-Remaining") == "\(left)")
        }
        let refused = try device.request("GET", "/attested/x")
        #expect(refused.status == 429)
        #expect(refused.code == "quota_exhausted")
        #expect(refused.member("action") == "retry_later")
        #expect(Self.remaining(refused, of: "few") == 0)
        let wait = try #require(refused["Retry-After"].flatMap { Int($0) })
        #expect((1...31 * 86_400).contains(wait))
        #expect(refused["RateLimit"]?.hasSuffix(";t=\(wait)") == true)
        // Another key has a count of its own, and what a client says is not passed on.
        let other = try EnrolledDevice(gateway)
        let fields = try other.signedFields("GET", "/attested/x")
        let answer = try other.send(
            "GET", "/attested/x", fields: fields + [("X-Attest-Quota-few-Remaining", "99")])
        #expect(answer.status == 200)
        #expect(gateway.told("X-Attest-Quota-few-Remaining") == "1")
        #expect(gateway.upstream.requests.count == 3)
        gateway.stop()
        #expect(
            gateway.outcomes(of: "attested") == ["verified ok": 3, "refused quota_exhausted": 1])
        #expect(gateway.hub.meters[0].quotas.charged(of: "few") == 3)
        #expect(gateway.hub.meters[0].quotas.value(.exhausted, of: "few") == 1)
    }

    @Test("a replayed request is refused before it is charged")
    func replay() throws {
        let gateway = try Self.gateway([Self.quota("few", by: .installation, limit: 2)])
        let device = try EnrolledDevice(gateway)
        let fields = try device.signedFields("GET", "/attested/x")
        #expect(try device.send("GET", "/attested/x", fields: fields).status == 200)
        let replayed = try device.send("GET", "/attested/x", fields: fields)
        #expect(replayed.status == 401)
        #expect(replayed["RateLimit"] == nil)
        #expect(try device.request("GET", "/attested/x").status == 200)
    }

    @Test(
        "a key whose user the registry does not tell has a count of its own",
        arguments: [true, false])
    func untoldUser(hangs: Bool) throws {
        let quota = Self.quota("few", by: .user, limit: 2)
        let gateway = try GatewayUnderTest { settings in
            settings.signals.user = SignalSettings.User(header: "x-user")
            settings.timeouts.registry = hangs ? .milliseconds(100) : .seconds(600)
            settings.quotas = [quota]
            for index in settings.routes.indices where settings.routes[index].name == "attested" {
                settings.routes[index].quotas = ["few"]
                settings.routes[index].tellsQuotas = true
            }
        }
        let device = try EnrolledDevice(gateway)
        // The key is known, and not yet its user.
        #expect(try device.request("GET", "/observed/x").status == 200)
        let gate = Gate()
        defer { gate.open() }
        if hangs { gateway.registry.hold(until: gate) } else { gateway.registry.fail("gone") }
        for left in [1, 0] {
            let answer = try device.request("GET", "/attested/x")
            #expect(answer.status == 200 && Self.remaining(answer, of: "few") == left)
        }
        #expect(try device.request("GET", "/attested/x").code == "quota_exhausted")
        // Once for each of them.
        let asked = gateway.registry.calls.count { $0 == .findUser(device.device.keyID) }
        #expect(asked == 3)
    }

    @Test("senders that prove no app share a count")
    func unknown() throws {
        let gateway = try Self.gateway([Self.quota("few", by: .app, limit: 1)])
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/x").status == 200)
        #expect(try gateway.client().exchange("GET", "/x").status == 429)
        let device = try EnrolledDevice(gateway)
        #expect(try device.request("GET", "/attested/x").status == 200)
        #expect(try EnrolledDevice(gateway).request("GET", "/attested/x").status == 429)
    }

    @Test("a request that was not sent is given back")
    func deadUpstream() throws {
        let gateway = try Self.gateway([Self.quota("few", by: .address, limit: 1)])
        gateway.upstream.stop()
        let client = try gateway.client()
        for _ in 0..<3 {
            let answer = try client.exchange("GET", "/x")
            #expect(answer.status == 502)
            #expect(Self.remaining(answer, of: "few") == 0)
        }
        let revived = try RecordingUpstream(port: gateway.upstream.port)
        #expect(try client.exchange("GET", "/x").status == 200)
        #expect(try client.exchange("GET", "/x").status == 429)
        #expect(revived.requests.count == 1)
    }

    @Test("a request that was sent costs, though its answer breaks")
    func brokenAnswer() throws {
        let gateway = try Self.gateway(
            [Self.quota("few", by: .address, limit: 1)], upstream: { _ in .dies })
        let client = try gateway.client()
        #expect(try client.exchange("POST", "/x").status == 502)
        #expect(try client.exchange("POST", "/x").status == 429)
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("what an earlier quota took is given back if a later one refuses")
    func twoQuotas() throws {
        let gateway = try Self.gateway([
            Self.quota("wide", by: .address, limit: 10), Self.quota("few", by: .address, limit: 2),
        ])
        let client = try gateway.client()
        for _ in 0..<2 { #expect(try client.exchange("GET", "/x").status == 200) }
        for _ in 0..<5 {
            let refused = try client.exchange("GET", "/x")
            #expect(refused.status == 429)
            // Taken, and given back once the answer is out.
            #expect(Self.remaining(refused, of: "wide") == 7)
            #expect(Self.remaining(refused, of: "few") == 0)
        }
        #expect(
            try gateway.logLines().filter { $0.contains(#""quotas":{"wide":1,"few":1}"#) }.count
                == 2)
    }

    // MARK: answers

    @Test("bytes of answers count as they come from the upstream, long ones too")
    func responseBytes() throws {
        let quota = Self.quota("bytes", by: .address, limit: 1_000_000, of: .responseBytes)
        let gateway = try Self.gateway([quota]) { request in
            switch request.target {
            case "/large": .large(byteCount: 600_000)
            case "/chunked": .chunked(["abc", "defg"])
            default: .response()
            }
        }
        let client = try gateway.client()
        var left = 1_000_000
        for (target, byteCount) in [
            ("/", 6), ("/chunked", 7), ("/large", 600_000), ("/large", 600_000),
        ] {
            let answer = try client.exchange("GET", target)
            // An answer is charged once it has ended.
            #expect(answer.status == 200 && answer.body.count == byteCount)
            #expect(Self.remaining(answer, of: "bytes") == left)
            left -= byteCount
        }
        #expect(try client.exchange("GET", "/").status == 429)
    }

    @Test("a number in an answer is charged, as long as something is left")
    func numbers() throws {
        let gateway = try Self.gateway([try Self.tokens(limit: 100)]) { request in
            Self.costing(String(request.target.dropFirst()))
        }
        let client = try gateway.client()
        var left = 100
        for (number, charge) in [("8", 8), ("12.0", 12), ("1e1", 10), ("0", 0), ("99", 99)] {
            let answer = try client.exchange("GET", "/\(number)")
            #expect(answer.status == 200 && Self.remaining(answer, of: "tokens") == left)
            left -= charge
        }
        let refused = try client.exchange("GET", "/1")
        #expect(refused.status == 429 && Self.remaining(refused, of: "tokens") == 0)
        #expect(gateway.upstream.requests.allSatisfy { $0["Accept-Encoding"] == "identity" })
        gateway.stop()
        #expect(gateway.hub.meters[0].quotas.value(.missing, of: "tokens") == 0)
    }

    @Test("requests in flight are the most by which answers exceed a limit")
    func overshoot() throws {
        let gate = Gate()
        let answer = Self.costing("8")
        let gateway = try Self.gateway([try Self.tokens(limit: 10)]) { _ in
            UpstreamAnswer([.wait(gate)]).followed(by: answer)
        }
        // Nothing is charged yet, so all of them pass.
        let clients = try (0..<4).map { _ in try gateway.client() }
        for client in clients { try client.send("GET", "/x") }
        try gateway.upstream.waitForRequests(4)
        gate.open()
        for client in clients { #expect(try client.receive().status == 200) }
        #expect(try clients[0].exchange("GET", "/x").status == 429)
        gateway.stop()
        // Never more than the limit, and what those cost that were in flight.
        #expect(gateway.hub.meters[0].quotas.charged(of: "tokens") == 32)
    }

    /// An answer, and what it costs of 1000 with 7 for one without the number.
    private static let oddAnswers: [(answer: UpstreamAnswer, method: String, cost: Int)] = [
        (costing("\"8\""), "GET", 7), (costing("-8"), "GET", 7), (costing("1.5"), "GET", 7),
        (costing("null"), "GET", 7), (costing("[8]"), "GET", 7),
        (costing("8,\"total\":9"), "GET", 7), (costing("8}"), "GET", 7),
        // More than is left for anything.
        (costing("1e30"), "GET", 1000), (costing("99999999999999999999"), "GET", 1000),
        // Errors are free if they say nothing.
        (costing("null", status: 404), "GET", 0), (costing("5", status: 500), "GET", 5),
        // Without a body there is no number.
        (.raw("HTTP/1.1 204 No\r\n\r\n"), "GET", 0), (.raw("HTTP/1.1 304 No\r\n\r\n"), "GET", 0),
        (.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), "HEAD", 0),
        (.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "GET", 0),
        (.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "GET", 0),
        // Another media type, and a coding.
        (.response(body: #"{"usage":{"total":5}}"#), "GET", 7),
        (
            .response(
                fields: [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
                body: #"{"usage":{"total":5}}"#), "GET", 7
        ),
        (
            .response(
                fields: [("Content-Type", "application/hal+json")],
                body: #"{"usage":{"total":5}}"#), "GET", 5
        ),
        (
            .response(
                fields: [("Content-Type", "text/event-stream")],
                body: "data: {\"usage\":{\"total\":5}}\n\ndata: [DONE]\n\n"), "GET", 5
        ),
    ]

    @Test("an answer without the number costs what the quota says", arguments: oddAnswers.indices)
    func missing(index: Int) throws {
        let (answer, method, cost) = Self.oddAnswers[index]
        let gateway = try Self.gateway(
            [try Self.tokens(limit: 1000, missing: 7)], upstream: { _ in answer })
        _ = try gateway.client().exchange(method, "/x")
        gateway.stop()
        let meter = gateway.hub.meters[0].quotas
        #expect(meter.charged(of: "tokens") == cost)
        #expect(meter.value(.missing, of: "tokens") == (cost == 7 ? 1 : 0))
    }

    @Test(
        "a client that leaves a stream is charged what it has caused",
        arguments: [(events: [3, 9], cost: 9), (events: [], cost: 7)])
    func leaves(events: [Int], cost: Int) throws {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n"
        let body = ([": hello\n\n"] + events.map { "data: {\"usage\":{\"total\":\($0)}}\n\n" })
            .map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
        let gateway = try Self.gateway(
            [try Self.tokens(limit: 1000, missing: 7)], upstream: { _ in .raw(head + body) }
        ) { $0.onClientClose = .cancel }
        let client = try gateway.client()
        try client.send("GET", "/x")
        var received: [UInt8] = []
        let last = events.last.map { "\"total\":\($0)}}\n\n" } ?? ": hello\n\n"
        while !String(decoding: received, as: UTF8.self).contains(last) {
            received += try client.socket.receive()
        }
        // The upstream is silent from now on.
        client.socket.close()
        try gateway.upstream.waitForClose(ofConnection: 0)
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed client_closed": 1])
        #expect(gateway.hub.meters[0].quotas.charged(of: "tokens") == cost)
    }

    @Test("a client that leaves before an answer is charged as if the number were missing")
    func leavesEarly() throws {
        let gateway = try Self.gateway(
            [try Self.tokens(limit: 1000, missing: 7)], upstream: { _ in UpstreamAnswer([]) }
        ) { $0.onClientClose = .cancel }
        let client = try gateway.client()
        try client.send("GET", "/x")
        try gateway.upstream.waitForRequests(1)
        client.socket.close()
        try gateway.upstream.waitForClose(ofConnection: 0)
        gateway.stop()
        #expect(gateway.hub.meters[0].quotas.charged(of: "tokens") == 7)
    }

    /// How a client ends its streamed body before all of it has come.
    enum BodyBreak: CaseIterable {
        case nonsense, excess, silence, close
    }

    @Test(
        "a client that breaks off its streamed body pays as one that leaves before an answer",
        arguments: BodyBreak.allCases)
    func breaks(_ kind: BodyBreak) throws {
        let clock = ManualClock(now: .now(), wallMilliseconds: WallClock.milliseconds())
        let quota = try Self.tokens(limit: 1000, missing: 7)
        let stepped = try SteppedWorker(clock: clock) {
            $0.quotas = [quota]
            $0.routes[0].quotas = ["tokens"]
            $0.routes[0].onClientClose = .cancel
            $0.routes[0].streamsBody = true
            $0.routes[0].overrides.requestBodyTimeout = .seconds(5)
            $0.routes[0].bodyByteCountMax = 30
        }
        try stepped.begin(method: "POST", fields: "Transfer-Encoding: chunked\r\n")
        stepped.send("e\r\n{\"prompt\":\"x\"}\r\n")
        stepped.connection.descriptorIsReadable()
        stepped.worker.services.outbox.flush()
        #expect(stepped.upstreamText().contains("}"))
        switch kind {
        case .nonsense: stepped.send("nonsense\r\n")
        case .excess: stepped.send("11\r\n" + String(repeating: " ", count: 17) + "\r\n")
        case .silence:
            for _ in 0..<7 {
                clock.now = clock.now + .seconds(1)
                stepped.worker.services.loop.runUntilIdle()
            }
        case .close: stepped.closeClient()
        }
        stepped.connection.descriptorIsReadable()
        #expect(stepped.charged == [7, 0])
    }

    @Test(
        "a stream may be silent for longer than a minute, and ends when its client leaves",
        arguments: [(events: [3, 9], cost: 9), (events: [], cost: 7)])
    func silence(events: [Int], cost: Int) throws {
        let stream = SilentStream(events: events)
        let stepped = try stream.begin(readTimeout: .seconds(3600))
        let leased = try #require(stepped.leased)
        // By no other time-out of the gateway either.
        for _ in 0..<600 { stream.pass(.seconds(1), stepped) }
        #expect(stepped.connection.state == .exchanging)
        #expect(stepped.charged == [0, 0])
        stepped.closeClient()
        stepped.worker.services.loop.runUntilIdle()
        #expect(stepped.connection.state == .closed)
        #expect(leased.state == .closed)
        #expect(stepped.charged == [cost, stream.byteCount])
    }

    @Test("a stream that read_timeout ends costs the same as one that its client leaves")
    func silenceTimeout() throws {
        let stream = SilentStream(events: [3, 9])
        let stepped = try stream.begin(readTimeout: .seconds(60))
        for _ in 0..<59 { stream.pass(.seconds(1), stepped) }
        #expect(stepped.connection.state == .exchanging)
        for _ in 0..<3 { stream.pass(.seconds(1), stepped) }
        #expect(stepped.connection.state == .closed)
        #expect(stepped.charged == [9, stream.byteCount])
    }

    /// An event stream that says no more after these events, at a worker with a clock that stands.
    private struct SilentStream {
        let events: [Int]
        let clock = ManualClock(now: .now(), wallMilliseconds: WallClock.milliseconds())

        private var texts: [String] {
            [": hello\n\n"] + events.map { "data: {\"usage\":{\"total\":\($0)}}\n\n" }
        }
        var byteCount: Int { texts.joined().utf8.count }

        func begin(readTimeout: Duration) throws -> SteppedWorker {
            let quotas = [
                try QuotaTests.tokens(limit: 1000, missing: 7),
                QuotaTests.quota("bytes", by: .address, limit: 1_000_000, of: .responseBytes),
            ]
            let stepped = try SteppedWorker(clock: clock) {
                $0.quotas = quotas
                $0.routes[0].quotas = quotas.map(\.name)
                $0.routes[0].onClientClose = .cancel
                $0.routes[0].overrides.readTimeout = readTimeout
            }
            try stepped.begin()
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n"
            let body = texts.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }
            try stepped.relay(Array((head + body.joined()).utf8))
            stepped.worker.services.outbox.flush()
            #expect(stepped.takeAnswers().contains(texts.last ?? ""))
            return stepped
        }

        func pass(_ duration: Duration, _ stepped: SteppedWorker) {
            clock.now = clock.now + duration
            clock.wallMilliseconds += Int64(duration.components.seconds * 1000)
            stepped.worker.services.loop.runUntilIdle()
        }
    }

    // MARK: event streams

    /// What an upstream sends as an event stream, how it ends, and what it costs of 1000 with 7 for
    /// one without the number.
    private static let oddStreams:
        [(text: String, ending: UpstreamAnswer.Ending, fields: [String], cost: Int)] = [
            // Cut by the upstream: behind an event, in the next one, in a number, in the first one.
            (event("5"), .close, [], 5),
            (event("3") + "data: {\"usage\":{\"tot", .close, [], 3),
            (event("3") + "data: {\"usage\":{\"total\":12", .close, [], 3),
            ("data: {\"usage\":{\"total\":12", .close, [], 7),
            // Whole, though the empty line behind it is not there.
            (String(event("12").dropLast(2)), .close, [], 12),
            // Texts, lists and other places are no numbers.
            (event("\"5\""), .keepAlive, [], 7), (event("[5]"), .keepAlive, [], 7),
            (event("{\"total\":5}"), .keepAlive, [], 7),
            ("data: {\"a\":{\"usage\":{\"total\":5}}}\n\n", .keepAlive, [], 7),
            ("data: [{\"usage\":{\"total\":5}}]\n\n", .keepAlive, [], 7),
            // Twice in an event is none; of two events the later one has it, though it is smaller.
            (event("5,\"total\":6"), .keepAlive, [], 7),
            (event("3") + event("5,\"total\":6"), .keepAlive, [], 3),
            (event("9") + event("4"), .keepAlive, [], 4),
            // Numbers that cannot be charged, and those that use everything up.
            (event("-5"), .keepAlive, [], 7), (event("1.5"), .keepAlive, [], 7),
            (event("3") + event("-5"), .keepAlive, [], 7),
            (event("1e400"), .keepAlive, [], 1000),
            (event(String(repeating: "9", count: JSONNumber.byteCountMax)), .keepAlive, [], 1000),
            (event(String(repeating: "9", count: JSONNumber.byteCountMax + 1)), .keepAlive, [], 7),
            // A deep event and a long line do not hide the one behind them.
            (
                "data: " + String(repeating: "[", count: 100_000) + "\n\n" + event("5"), .keepAlive,
                [], 5
            ),
            (
                "data: \"" + String(repeating: "a", count: 300_000) + "\"\n\n" + event("5"),
                .keepAlive, [], 5
            ),
            // A coding that the gateway has not asked for.
            (event("5"), .keepAlive, ["Content-Encoding: gzip"], 7),
            (event("5"), .keepAlive, ["Content-Encoding: br"], 7),
            (event("5"), .keepAlive, ["Content-Encoding: Identity"], 5),
            (event("5"), .keepAlive, ["Content-Encoding: identity, gzip"], 7),
        ]

    private static func event(_ total: String) -> String {
        "data: {\"usage\":{\"total\":\(total)}}\n\n"
    }

    @Test("streams cost the number of their last whole event", arguments: oddStreams.indices)
    func stream(index: Int) throws {
        let (text, ending, fields, cost) = Self.oddStreams[index]
        let head = (["Content-Type: text/event-stream"] + fields).map { $0 + "\r\n" }.joined()
        // An upstream that ends too early has promised more.
        let count = text.utf8.count + (ending == .keepAlive ? 0 : 1)
        let gateway = try Self.gateway([try Self.tokens(limit: 1000, missing: 7)]) { _ in
            .raw(
                "HTTP/1.1 200 OK\r\n\(head)Content-Length: \(count)\r\n\r\n\(text)", then: ending)
        }
        let client = try gateway.client()
        try client.send("GET", "/x")
        #expect(try client.receiveHead().status == 200)
        #expect(String(decoding: try client.receiveBytes(text.utf8.count), as: UTF8.self) == text)
        if ending != .keepAlive { #expect(try client.receiveToEnd().isEmpty) }
        #expect(gateway.upstream.requests.allSatisfy { $0["Accept-Encoding"] == "identity" })
        gateway.stop()
        let meter = gateway.hub.meters[0].quotas
        #expect(meter.charged(of: "tokens") == cost)
        #expect(meter.value(.missing, of: "tokens") == (cost == 7 ? 1 : 0))
    }
}

extension SteppedWorker {
    /// What was charged to the quotas `tokens` and `bytes`.
    fileprivate var charged: [Int] {
        ["tokens", "bytes"].map { Int(worker.services.meter.quotas.charged(of: $0)) }
    }
}
