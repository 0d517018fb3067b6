import EventLoop
import HTTPSClient

extension Operation {
    /// What is asked of servers of others through libcurl, without TLS: OpenSSL has its own.
    static func requests() throws -> [Operation] {
        let body = [UInt8](repeating: 0x62, count: 20_000)
        let server = try LocalServer { connection in
            var received: [UInt8] = []
            while true {
                let bytes = LocalServer.read(connection)
                if bytes.isEmpty { return }
                received += bytes
                // The request's last byte.
                guard received.last == 0x7E else { continue }
                received = []
                let head =
                    "HTTP/1.1 200 OK\r\nRetry-After: 7\r\nX-Name: a value\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n"
                LocalServer.write(connection, Array(head.utf8) + body)
            }
        }
        let expected = HTTPSResponse(
            status: 200,
            fields: [
                HTTPSField("retry-after", "7"), HTTPSField("x-name", "a value"),
                HTTPSField("content-length", "\(body.count)"),
            ], body: body, retryAfter: .seconds(7))
        return [
            Operation("HTTPS client: a request", of: .curl) {
                .same(as: [expected]) { try ask(server.port, count: 1) }
            },
            Operation("HTTPS client: one after the other", of: .curl) {
                .same(as: [expected, expected]) { try ask(server.port, count: 2) }
            },
        ]
    }

    private static func ask(_ port: UInt16, count: Int) throws -> [HTTPSResponse] {
        let loop = try EventLoop()
        var configuration = HTTPSConfiguration(authorities: nil)
        configuration.allowsPlainHTTP = true
        configuration.proxy = .direct
        // What is longer hangs.
        configuration.timeout = .seconds(20)
        let client = try HTTPSClient(loop: loop, configuration)
        defer { client.close() }
        let request = HTTPSRequest(
            url: "http://127.0.0.1:\(port)/path?query", method: .post(body: Array("body~".utf8)),
            fields: [HTTPSField("X-Name", "a value"), HTTPSField("Content-Type", "text/plain")])
        var responses: [HTTPSResponse] = []
        for _ in 0..<count {
            var result: Result<HTTPSResponse, HTTPSFailure>?
            client.send(request) {
                result = $0
                loop.stop()
            }
            loop.run()
            guard let result else { throw HTTPSFailure.closed }
            if case .failure(.timedOut) = result {
                throw Outcome.Wrong(text: "it was waited for until the time was over")
            }
            responses.append(try result.get())
        }
        return responses
    }
}
