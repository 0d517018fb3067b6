import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "A streamed body that the upstream did not take", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct StreamedRetryTests {}

extension StreamedRetryTests {
    private static let refused: UInt32 = 7

    /// A gateway that streams the bodies of every route to `server`, and keeps up to 1 KiB of each.
    private func gateway(_ server: ScriptedHTTP2Server) throws -> GatewayProcess {
        var configuration = GatewayConfiguration.http2Upstream(
            port: server.port, route: ["request_body: stream", "body_max: 1MiB"])
        configuration.more = ["limits: { body_memory: 1KiB }"]
        return try GatewayProcess(configuration)
    }

    /// Answers the first request of each connection, and leaves the second one out by a GOAWAY.
    private static func leavingOutEverySecond() throws -> ScriptedHTTP2Server {
        try ScriptedHTTP2Server { request, connection in
            guard request.stream == 1 else {
                return try connection.send(.goAway(lastStream: 1, code: 0))
            }
            try connection.respond(to: request, body: "\(request.body.count)")
        }
    }

    @Test("is sent to another connection by every request that a GOAWAY leaves out")
    func goAways() throws {
        let server = try Self.leavingOutEverySecond()
        let gateway = try gateway(server)
        let one = try gateway.connect()
        let two = try HTTP2Client(port: gateway.port)
        let count = 40
        for index in 0..<count {
            let body = [UInt8](repeating: 0x61, count: index * 26)
            let text = "\(body.count)"
            if index.isMultiple(of: 2) {
                #expect(try one.exchange("POST", "/one", body: body).bodyText == text)
            } else {
                let id = UInt32(index)
                #expect(try two.exchange(id, "POST", "/two", body: body).bodyText == text)
            }
        }
        #expect(server.connectionCount == count)
        let retries = try gateway.metric("sallyport_upstream_retries_total")
        #expect(retries == Double(count - 1))
    }

    @Test("is whole where some of it came before the GOAWAY and the rest after it")
    func partly() throws {
        let gate = Gate()
        let server = try ScriptedHTTP2Server(
            { try $1.respond(to: $0, body: $0.bodyText) },
            head: { request, connection in
                guard connection.index == 0, request.stream > 1 else { return }
                Thread.detachNewThread {
                    gate.wait()
                    try? connection.send(.goAway(lastStream: 1, code: 0))
                }
            })
        let gateway = try gateway(server)
        #expect(try gateway.exchange("GET", "/warm").status == 200)
        let two = try HTTP2Client(port: gateway.port)
        try two.send(
            .headers(1, HTTP2Client.head("POST", "/two"), endStream: false),
            .data(1, Array("ab".utf8), endStream: false))
        let one = try gateway.connect()
        try one.send(
            "POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        try server.wait { $0.count(where: { $0.bodyText == "ab" }) == 2 }
        gate.open()
        try server.wait { $0.count(where: { $0.bodyText == "ab" && $0.connection == 1 }) == 2 }
        try two.send(.data(1, Array("cd".utf8)))
        #expect(try two.answer(1).bodyText == "abcd")
        try one.send("2\r\ncd\r\n0\r\n\r\n")
        #expect(try one.receive().bodyText == "abcd")
    }

    @Test("is refused likewise to a client in HTTP/2 where it is too large to be kept")
    func tooLargeToKeep() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.path != "/next" else { return try connection.respond(to: request) }
            try connection.send(.reset(request.stream, code: Self.refused))
        }
        let gateway = try gateway(server)
        let body = [UInt8](repeating: 0x61, count: 1025)
        let two = try HTTP2Client(port: gateway.port)
        let answer = try two.exchange(1, "POST", "/two", body: body)
        #expect(answer.resetCode == Self.refused && answer.fields.isEmpty)
        #expect(try two.exchange(3, "GET", "/next").status == 200)
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/two" }
        #expect(line["reason"]?.stringValue == "upstream_failed")
        #expect(line["detail"]?.stringValue == "refused: by the server")
        // What a client in HTTP/1.1 is told.
        #expect(line["status"]?.integerValue == 502)
        let failures = #"sallyport_responses_total{route="all",class="5xx"}"#
        #expect(try gateway.metric(failures) == 1)
        #expect(try gateway.exchange("POST", "/one", body: body).status == 502)
        #expect(try server.wait { $0.count == 3 }.map(\.path) == ["/two", "/next", "/one"])
    }

    @Test("is given up after as many tries as one that is held")
    func never() throws {
        let server = try ScriptedHTTP2Server {
            try $1.send(.reset($0.stream, code: Self.refused))
        }
        let gateway = try gateway(server)
        let two = try HTTP2Client(port: gateway.port)
        let body = [UInt8](repeating: 0x61, count: 1024)
        #expect(try two.exchange(1, "POST", "/", body: body).status == 502)
        let seen = try server.wait { $0.count == 3 && $0.allSatisfy { $0.isComplete } }
        #expect(seen.allSatisfy { $0.body == body })
    }

    @Test("is not sent again once the upstream has begun to answer")
    func answered() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            let interim = [(":status", "103")]
            let head = [(":status", "200")]
            try connection.send(
                .headers(
                    request.stream, request.path == "/interim" ? interim : head,
                    endStream: false),
                .reset(request.stream, code: Self.refused))
        }
        let gateway = try gateway(server)
        let two = try HTTP2Client(port: gateway.port)
        #expect(try two.exchange(1, "PUT", "/interim", body: [1]).status == 502)
        #expect(try two.exchange(3, "PUT", "/head", body: [1]).resetCode == 2)
        #expect(try server.wait { $0.count == 2 }.count == 2)
    }

    @Test("is repeated where a broken connection leaves it open, if its method allows that")
    func broken() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.stream > 1 else { return try connection.respond(to: request) }
            connection.socket.close()
        }
        let gateway = try gateway(server)
        #expect(try gateway.exchange("GET", "/").status == 200)
        #expect(try gateway.exchange("PUT", "/", body: [1]).status == 200)
        #expect(server.connectionCount == 2)
        #expect(try gateway.exchange("POST", "/", body: [1]).status == 502)
        #expect(server.connectionCount == 2)
    }
}
