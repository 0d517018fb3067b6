import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("HTTP/2 streams side by side", .enabled(if: BuiltProgram.isBuilt))
struct HTTP2FlowTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension HTTP2FlowTests {
    private func gateway(_ more: [String] = []) throws -> GatewayProcess {
        try GatewayProcess(.http2(upstreamPort: upstream.port, more: more))
    }

    @Test("a thousand requests on a hundred streams at a time")
    func thousand() throws {
        let gateway = try gateway()
        let load = try ChildProcess.run(
            "h2load", ["-n", "1000", "-c", "1", "-m", "100", "http://127.0.0.1:\(gateway.port)/"])
        #expect(load.standardOutput.contains("1000 succeeded, 0 failed, 0 errored, 0 timeout"))
        #expect(upstream.requests.count == 1000)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("64 asserted requests of one device at once: a window of 64 refuses none")
    func asserted() throws {
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: "mode: enforce, replay: { window: 64 }")
        configuration.speakHTTP2()
        let gateway = try GatewayProcess(configuration)
        let device = try SimulatedClient.enrolled(gateway)
        var frames: [HTTP2Frame] = []
        for index in 0..<64 {
            let path = "/api/\(index)"
            let signature = try device.signature("GET", path)
            let fields = signature.map { ($0.0.lowercased(), $0.1) }
            frames.append(.headers(UInt32(index * 2 + 1), HTTP2Client.head("GET", path, fields)))
        }
        // The last first: the window must reach back to the very first counter.
        let client = try HTTP2Client(port: gateway.port)
        let order = Array(frames.reversed()).enumerated().map { index, frame in
            var frame = frame
            frame.stream = UInt32(index * 2 + 1)
            return frame
        }
        try client.send(order)
        for frame in order {
            let answer = try client.answer(frame.stream)
            #expect(answer.status == 200, "\(answer.bodyText)")
            #expect(answer["x-app-attest-challenge"] != nil)
        }
        let seen = upstream.requests.map(\.message)
        #expect(seen.count == 64)
        #expect(seen.allSatisfy { $0["X-Attest-Result"] == "verified" })
        // And a second time none passes.
        let again = order.map { frame in
            var frame = frame
            frame.stream += 128
            return frame
        }
        try client.send(again)
        for frame in again { #expect(try client.answer(frame.stream).status == 401) }
        #expect(upstream.requests.count == 64)
    }

    @Test("a client that has sent its last word gets the whole of a large answer")
    func halfClosed() throws {
        let byteCount = 3 << 20
        upstream.answer { _ in .large(byteCount: byteCount) }
        let gateway = try gateway()
        let client = try HTTP2Client(
            port: gateway.port, settings: [(4, 16 << 20)], receiveBufferByteCount: 8192)
        client.opensWindows = false
        try client.send(.windowUpdate(0, 16 << 20))
        try client.request(1, "GET", "/large")
        client.socket.shutdownSending()
        let answer = try client.answer(1)
        #expect(answer.isComplete && answer.body.count == byteCount)
        try client.receiveToEnd()
    }

    @Test("each head has its time, though another has always begun")
    func headsWithoutPause() throws {
        upstream.answer { _ in
            _ = poll(nil, 0, 500)
            return .response()
        }
        let gateway = try gateway(["timeouts: { request_head: 5s }"])
        let client = try HTTP2Client(port: gateway.port)
        // Frames of its own would lie in the middle of a head.
        client.opensWindows = false
        // What an answer takes, twelve times, is more than that.
        var rest = HTTP2Frame.headers(1, HTTP2Client.head()).bytes
        for stream in stride(from: UInt32(1), to: 25, by: 2) {
            let next = HTTP2Frame.headers(stream + 2, HTTP2Client.head()).bytes
            try client.socket.send(rest + next[..<12])
            rest = Array(next[12...])
            #expect(try client.answer(stream).status == 200)
        }
    }

    @Test("a client that does not read makes the upstream wait, and others not")
    func slowReader() throws {
        upstream.answer { request in
            request.target == "/large" ? .large(byteCount: 32 << 20) : .response()
        }
        let gateway = try gateway()
        let client = try HTTP2Client(port: gateway.port)
        client.opensWindows = false
        for stream in [1, 3, 5, 7] as [UInt32] { try client.request(stream, "GET", "/large") }
        // The connection's window, 64 KiB, is all that comes.
        try client.receive { $0.answers.values.reduce(0) { $0 + $1.body.count } >= 65_535 }
        try client.settle()
        #expect(try gateway.exchange("GET", "/small").status == 200)
        #expect(
            try residentByteCount(gateway) < 64 << 20,
            "four answers of 32 MiB wait upstream, not here")
        // Windows opened, all of it comes.
        client.opensWindows = true
        try client.send(.windowUpdate(0, 1 << 28))
        for stream in [1, 3, 5, 7] as [UInt32] { try client.send(.windowUpdate(stream, 1 << 28)) }
        for stream in [1, 3, 5, 7] as [UInt32] {
            #expect(try client.answer(stream).body.count == 32 << 20)
        }
    }

    @Test("a hundred answers that nobody reads are held as one")
    func hundredSlowReaders() throws {
        upstream.answer { request in
            request.target == "/large" ? .large(byteCount: 1 << 20) : .response()
        }
        let gateway = try gateway()
        for _ in 0..<3 { #expect(try gateway.exchange("GET", "/small").status == 200) }
        let client = try HTTP2Client(port: gateway.port)
        client.opensWindows = false
        let before = try residentByteCount(gateway)
        for index in 0..<100 { try client.request(UInt32(index * 2 + 1), "GET", "/large") }
        try upstream.waitForRequests(103)
        // Until the gateway holds what it will hold.
        var held = 0
        var calmCount = 0
        while calmCount < 50 {
            // By another connection: on a busy machine there would be too many PINGs on this one.
            #expect(try gateway.exchange("GET", "/small").status == 200)
            let now = try residentByteCount(gateway)
            calmCount = now == held ? calmCount + 1 : 0
            held = now
        }
        #expect(held - before < 4 << 20)
        // A stream whose client reads is served meanwhile: the windows of the others stay closed.
        try client.send(.reset(1), .windowUpdate(0, 1 << 24))
        #expect(try client.exchange(201, "GET", "/small").status == 200)
    }

    private func residentByteCount(_ gateway: GatewayProcess) throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(gateway.current.processID)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return try #require(line.flatMap { Int($0.filter(\.isNumber)) }) * 1024
    }

    @Test("a stream whose client takes nothing ends, the connection goes on")
    func stuckStream() throws {
        upstream.answer { request in
            request.target == "/large" ? .large(byteCount: 1 << 20) : .response()
        }
        let gateway = try gateway(["timeouts: { send: 200ms }"])
        let client = try HTTP2Client(port: gateway.port)
        client.opensWindows = false
        try client.request(1, "GET", "/large")
        let answer = try client.answer(1)
        #expect(answer.resetCode != nil)
        try client.send(.windowUpdate(0, 1 << 20))
        #expect(try client.exchange(3).status == 200)
    }

    @Test("a stream whose client takes a byte now and then ends, the connection goes on")
    func slowStream() throws {
        upstream.answer { request in
            request.target == "/large" ? .large(byteCount: 1 << 20) : .response()
        }
        let gateway = try gateway([
            "limits: { response_rate_min: 16MiB/s }", "timeouts: { response_grace: 200ms }",
        ])
        let client = try HTTP2Client(port: gateway.port)
        client.opensWindows = false
        try client.request(1, "GET", "/large")
        try client.send(.windowUpdate(0, 1 << 20))
        try client.receive { client in
            if client.answers[1]?.isOver == true { return true }
            try client.send(.windowUpdate(1, 1))
            return false
        }
        #expect(client.answers[1]?.resetCode != nil)
        let line = try gateway.accessLine()
        #expect(line["detail"]?.stringValue == "slow_reader")
        client.opensWindows = true
        #expect(try client.exchange(3).status == 200)
    }

    @Test("an upload waits for windows, and arrives whole")
    func upload() throws {
        var configuration = GatewayConfiguration.http2(
            upstreamPort: upstream.port, more: ["limits: { body: 16MiB }"])
        configuration.listenerMore = ["protocols: [h2]"]
        let gateway = try GatewayProcess(configuration)
        let directory = try ScratchDirectory()
        let body = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let path = directory.path + "/body"
        try Data(body).write(to: URL(fileURLWithPath: path))
        let curl = try ChildProcess.run(
            "curl",
            [
                "-sS", "--http2-prior-knowledge", "--data-binary", "@" + path, "-w",
                "%{http_code}", "-o", "/dev/null", "http://127.0.0.1:\(gateway.port)/",
            ])
        #expect(curl.standardOutput == "200")
        #expect(upstream.requests.first?.message.body == body)
    }

    @Test("windows open only as bytes are taken")
    func windows() throws {
        let gateway = try gateway()
        let client = try HTTP2Client(port: gateway.port)
        #expect(client.serverSettings[4] == 262_144)
        let head = HTTP2Client.head("POST", "/", [("content-length", "262145")])
        try client.send(.headers(1, head, endStream: false))
        for _ in 0..<16 {
            try client.send(.data(1, .init(repeating: 1, count: 16_384), endStream: false))
        }
        try client.receive { $0.grantedByteCount(1) > 0 }
        try client.send(.data(1, [1]))
        #expect(try client.answer(1).status == 200)
    }

    @Test("a request that its client resets is given up")
    func cancelled() throws {
        let gate = Gate()
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response() }
        let gateway = try gateway()
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, "GET", "/slow")
        try upstream.waitForRequests(1)
        try client.send(.reset(1))
        let line = try gateway.accessLine { $0["reason"]?.stringValue == "client_closed" }
        gate.open()
        try upstream.waitForClose(ofConnection: 0)
        #expect(line["path"]?.stringValue == "/slow")
        #expect(try client.exchange(3).status == 200)
    }

    @Test("requests whose client closes the connection are given up")
    func connectionClosed() throws {
        upstream.answer { _ in UpstreamAnswer([]) }
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.routes[0].more = ["on_client_close: cancel"]
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, "GET", "/1")
        try client.request(3, "GET", "/3")
        try upstream.waitForRequests(2)
        client.socket.close()
        try upstream.waitForClose(ofConnection: 0)
        try upstream.waitForClose(ofConnection: 1)
        let line = try gateway.accessLine { $0["reason"]?.stringValue == "client_closed" }
        #expect(line["status"]?.integerValue == 499)
    }

    @Test("SIGTERM: what was asked before the client could know is answered")
    func drain() throws {
        let gate = Gate()
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response() }
        let gateway = try gateway()
        let client = try HTTP2Client(port: gateway.port)
        client.answersPings = false
        try client.request(1, "GET", "/slow")
        try upstream.waitForRequests(1)
        gateway.current.terminate()
        try client.receive { !$0.goAways.isEmpty }
        #expect(client.goAways.first?.lastStream == 0x7FFF_FFFF)
        #expect(client.goAways.first?.code == 0)
        // The client has not read it yet.
        #expect(try client.exchange(3).status == 200)
        client.answersPings = true
        try client.send(HTTP2Frame(.ping, flags: 1, payload: .init(repeating: 0, count: 8)))
        try client.receive { $0.goAways.count == 2 }
        #expect(client.goAways.last?.lastStream == 3)
        // Too late: not refused, not served, to be asked again elsewhere.
        try client.request(5)
        gate.open()
        #expect(try client.answer(1).status == 200)
        try client.receiveToEnd()
        #expect(client.answers[5] == nil)
        #expect(try gateway.current.waitForExit() == .exited(0))
        #expect(gateway.alarms.isEmpty)
    }

    @Test("a connection ends after its requests, and none is lost")
    func requestCount() throws {
        let gateway = try gateway(["limits: { requests_per_connection: 10 }"])
        let client = try HTTP2Client(port: gateway.port)
        var stream: UInt32 = 1
        while client.goAways.count < 2, stream < 1000 {
            #expect(try client.exchange(stream).status == 200)
            stream += 2
        }
        #expect(client.goAways.map(\.code) == [0, 0])
        #expect(client.goAways[0].lastStream == 0x7FFF_FFFF)
        #expect(client.goAways[1].lastStream == stream - 2)
        #expect(stream > 20)
        try client.receiveToEnd()
        #expect(upstream.requests.count == client.answers.count)
    }

    @Test("time-outs: for SETTINGS, a header block, a body, and the next request")
    func timeouts() throws {
        let impatient = try gateway(["timeouts: { http2_settings: 200ms }"])
        let silent = try HTTP2Client(port: impatient.port, settings: nil)
        // It never acknowledges what the gateway sent.
        try silent.socket.send(HTTP2Client.preface + HTTP2Frame.settings().bytes)
        var said: [UInt8] = []
        while case let bytes = try silent.socket.receive(), !bytes.isEmpty { said += bytes }
        #expect(said.suffix(8) == [0, 0, 0, 0, 0, 0, 0, 4])
        let restless = try gateway(["timeouts: { idle: 200ms }"])
        let never = try HTTP2Client(port: restless.port)
        try never.receiveToEnd()
        #expect(never.goAways.last?.code == 0)
        // On a busy machine the time may be over before the request has come.
        var idle = try HTTP2Client(port: restless.port)
        try repeatWhile((try? idle.exchange(1).status) != 200) {
            idle = try HTTP2Client(port: restless.port)
        }
        try idle.receiveToEnd()
        #expect(idle.goAways.last?.lastStream == 1)
        let gateway = try gateway(["timeouts: { request_head: 200ms, request_body: 200ms }"])
        let half = try HTTP2Client(port: gateway.port)
        try half.send(.headers(1, HTTP2Client.head(), endHeaders: false))
        try half.receiveToEnd()
        let body = try HTTP2Client(port: gateway.port)
        try body.send(.headers(1, HTTP2Client.head("POST"), endStream: false))
        #expect(try body.answer(1).status == 408)
        #expect(gateway.alarms.isEmpty && restless.alarms.isEmpty)
    }
}
