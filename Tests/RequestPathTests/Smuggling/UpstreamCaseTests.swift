import GatewayTesting
import Testing

/// Answers that two readers would read differently: the client gets one whole answer, 502, or sees
/// that it broke off; and what is left over is nobody else's answer.
@Suite("Ambiguous answers", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct UpstreamCaseTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        // Each worker has connections of its own, and the next request has to meet the same ones.
        configuration.workers = 1
        gateway = try GatewayProcess(configuration)
    }
}

extension UpstreamCaseTests {
    @Test("with two readings, or none, are 502")
    func refusedHeads() throws { try check(UpstreamCase.refusedHeads) }

    @Test("that go wrong in their body are seen to break off")
    func cutOffBodies() throws { try check(UpstreamCase.cutOffBodies) }

    @Test("with one reading are relayed, and leave nothing to the next client")
    func relayedAnswers() throws { try check(UpstreamCase.relayedAnswers) }

    private func check(_ cases: [UpstreamCase]) throws {
        for item in cases {
            let answer = item.answer
            upstream.answer { request in
                request.target == "/case" ? answer : .response(body: "mine")
            }
            let client = try gateway.connect()
            try client.send(item.method, "/case", fields: [("Connection", "close")])
            let bytes = try client.receiveToEnd()
            let label: Comment = "\(item.text.prefix(120).debugDescription)"
            try checkAnswer(bytes, of: item, label)
            let used = try #require(upstream.requests.last, label).connection
            #expect(try gateway.exchange("GET", "/next").bodyText == "mine", label)
            let next = try #require(upstream.requests.last, label).connection
            if case .relayed(_, _, let isReused) = item.outcome {
                if let isReused { #expect((next == used) == isReused, label) }
            } else {
                #expect(next != used, label)
            }
        }
        #expect(gateway.alarms.isEmpty)
    }

    private func checkAnswer(
        _ bytes: [UInt8], of item: UpstreamCase, _ label: Comment
    ) throws {
        var reader = StrictReader(bytes)
        var final: HTTPMessage?
        do {
            while final == nil {
                let answer = try reader.answer(toHEAD: item.method == "HEAD")
                if !answer.isInterim { final = answer }
            }
            #expect(reader.isAtEnd, label)
        } catch {
            if item.outcome != .cutOff { Issue.record(error, label) }
            return
        }
        let answer = try #require(final)
        switch item.outcome {
        case .cutOff: Issue.record("looks whole: \(label.rawValue)")
        case .refused: #expect(answer.status == 502, label)
        case .relayed(let status, let body, _):
            #expect(answer.status == status, label)
            #expect(answer.bodyText == body, label)
            for name in item.absentFields { #expect(answer[name] == nil, label) }
        }
    }

    @Test("that nobody asked for end the connection they come on")
    func unasked() throws {
        let gate = Gate()
        upstream.answer { request in
            guard request.target == "/case" else { return .response(body: "mine") }
            return UpstreamAnswer([
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)), .wait(gate),
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother".utf8)),
            ])
        }
        #expect(try gateway.exchange("GET", "/case").bodyText == "ok")
        gate.open()
        try upstream.waitForClose(ofConnection: 0)
        #expect(try gateway.exchange("GET", "/next").bodyText == "mine")
        #expect(upstream.requests.map(\.connection) == [0, 1])
    }
}
