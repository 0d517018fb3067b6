import GatewayTesting
import Testing

/// Requests that servers read differently, each with a second one behind it on the connection. One
/// server in front of another must make one message of them, or none.
@Suite("Smuggling", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct SmugglingTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream { request in
            request.method == "HEAD"
                ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
                : .response(body: request.target)
        }
        gateway = try GatewayProcess(
            GatewayConfiguration(
                upstreamPort: upstream.port,
                routes: [
                    .init("observed", path: "/o", attest: "mode: observe"),
                    .init("all", path: "/*"),
                ]))
    }
}

extension SmugglingTests {
    @Test("has one reading, or is refused", arguments: SmugglingFamily.all)
    func requests(_ family: SmugglingFamily) throws { try check(family) }

    @Test(
        "what browsers and old clients send is taken, or refused on purpose",
        arguments: SmugglingFamily.ordinary)
    func ordinary(_ family: SmugglingFamily) throws { try check(family) }

    private func check(_ family: SmugglingFamily) throws {
        for item in family.cases {
            try check(item, inPieces: false)
            // The verdict may not depend on how the bytes were cut.
            if item.bytes.count < 1000 { try check(item, inPieces: true) }
        }
        try checkUpstreamBytes()
        #expect(gateway.alarms.isEmpty)
        #expect(try gateway.exchange("GET", "/").status == 200)
    }

    @Test("the table is long, and says nothing twice")
    func table() {
        let families = SmugglingFamily.all + SmugglingFamily.ordinary
        let texts = families.flatMap { $0.cases.map(\.text) }
        #expect(texts.count >= 480)
        #expect(Set(texts).count == texts.count)
    }

    private func check(_ item: SmugglingCase, inPieces: Bool) throws {
        let before = upstream.requests.count
        let client = try gateway.connect()
        let bytes = item.bytes + Array(SmugglingCase.marker.utf8)
        // Refused, it may be cut off before all was sent.
        if inPieces {
            for byte in bytes { guard (try? client.send([byte])) != nil else { break } }
        } else {
            try? client.send(bytes)
        }
        client.socket.shutdownSending()
        let label: Comment = "\(item.text.prefix(120).debugDescription), in pieces: \(inPieces)"
        var statuses: [Int] = []
        do {
            let isHEAD = item.text.hasPrefix("HEAD")
            var reader = StrictReader(try client.receiveToEnd())
            while !reader.isAtEnd {
                let answer = try reader.answer(toHEAD: isHEAD && statuses.isEmpty)
                if !answer.isInterim { statuses.append(answer.status) }
            }
        } catch {
            Issue.record(error, label)
        }
        let requests = upstream.requests.dropFirst(before)
        let seen = requests.map { request in
            let body = request["Content-Length"].map { _ in
                String(String.UnicodeScalarView(request.body.map { Unicode.Scalar($0) }))
            }
            return SmugglingCase.Seen("\(request.method) \(request.target)", body)
        }
        let expected = expectations(of: item, statusCount: statuses.count)
        #expect(statuses == expected.statuses, label)
        #expect(seen == expected.seen, label)
        guard let first = requests.first else { return }
        for (name, value) in item.fields {
            #expect(first[name] == value, "\(name) of \(label.rawValue)")
        }
    }

    /// What the client and the upstream must have seen. `statusCount` decides only where a case
    /// leaves open whether the connection goes on.
    private func expectations(
        of item: SmugglingCase, statusCount: Int
    ) -> (statuses: [Int], seen: [SmugglingCase.Seen]) {
        var statuses: [Int] = []
        var seen: [SmugglingCase.Seen] = []
        let next: SmugglingCase.Next
        switch item.outcome {
        case .unfinished: return ([], [])
        case .refused(let status): return ([status], [])
        case .answered(let status, let then):
            statuses = [status]
            next = then
        case .forwarded(let requests, let then):
            statuses = requests.map { _ in 200 }
            seen = requests.map {
                .init($0.line, $0.body?.replacing("⏎", with: "\r\n"))
            }
            next = then
        }
        switch next {
        case .served:
            return (statuses + [200], seen + [SmugglingCase.seenMarker])
        case .servedOrClosed where statusCount > statuses.count:
            return (statuses + [200], seen + [SmugglingCase.seenMarker])
        case .refused(let status): return (statuses + [status], seen)
        case .closed, .content, .servedOrClosed: return (statuses, seen)
        }
    }

    /// Every byte that reached the upstream belongs to a request with one reading.
    private func checkUpstreamBytes() throws {
        var count = 0
        for connection in 0..<upstream.connectionCount {
            var reader = StrictReader(upstream.bytes(onConnection: connection))
            while !reader.isAtEnd {
                _ = try reader.request()
                count += 1
            }
        }
        #expect(count == upstream.requests.count)
    }
}
