import Bytes
import EventLoop
import GatewayTesting
import HTTPSClient
import Testing

@Suite(
    "A client whose server fails", .enabled(if: NginxServer.isInstalled), .timeLimit(.minutes(30)))
struct HTTPSFailureTests {
    private let bench: ClientBench

    init() throws { bench = try ClientBench() }
}

extension HTTPSFailureTests {
    /// nginx speaks TLS, the upstream behind it says `answer` and ends.
    private func server(
        isHTTP2: Bool, answering answer: String
    ) throws -> (server: NginxServer, upstream: LoopbackListener) {
        let upstream = try LoopbackListener { socket in
            _ = try? socket.receive()
            try? socket.send(answer)
            socket.close()
        }
        let server = try bench.nginx(
            "location / { proxy_buffering off; proxy_pass http://127.0.0.1:\(upstream.port); }",
            isHTTP2: isHTTP2)
        return (server, upstream)
    }

    @Test("speaks HTTP without TLS only where that is allowed")
    func plain() throws {
        let upstream = try RecordingUpstream()
        let request = HTTPSRequest(
            url: "http://127.0.0.1:\(upstream.port)/x", method: .post(body: Array("body".utf8)))
        let refused = try bench.outcome(try bench.client(), request)
        guard case .failure(.malformed) = refused else {
            Issue.record("\(refused)")
            return
        }
        #expect(upstream.connectionCount == 0)
        let client = try bench.client { $0.allowsPlainHTTP = true }
        #expect(try bench.outcome(client, request).get().status == 200)
        #expect(upstream.requests.map(\.message.bodyText) == ["body"])
    }

    @Test("never takes an answer that broke off for whole", arguments: [true, false])
    func cut(isHTTP2: Bool) throws {
        let (server, upstream) = try server(
            isHTTP2: isHTTP2, answering: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        defer { upstream.stop() }
        let outcome = try bench.outcome(try bench.client(), .get(server.port))
        guard case .failure(.cut) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("never takes the end of a connection for that of an answer", arguments: [true, false])
    func withoutEnd(isCut: Bool) throws {
        let (process, port) = try bench.scripted("HTTP/1.1 200 OK\r\n\r\nhalf", isCut: isCut)
        defer { process.kill() }
        let outcome = try bench.outcome(try bench.client(), .get(port))
        guard case .failure(.cut) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test(
        "takes an answer for whole that tells its end",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", 200),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", 200),
            ("HTTP/1.1 304 Not Modified\r\n\r\n", 304),
        ])
    func withEnd(answer: String, status: Int) throws {
        let (process, port) = try bench.scripted(answer, isCut: true)
        defer { process.kill() }
        let found = try bench.outcome(try bench.client(), .get(port)).get()
        #expect(found.status == status)
        #expect(found.body == (status == 200 ? Array("body".utf8) : []))
    }

    @Test("gives up an answer that is longer than its bound", arguments: [true, false])
    func tooLarge(isHTTP2: Bool) throws {
        let body = String(repeating: "x", count: 5000)
        let (server, upstream) = try server(
            isHTTP2: isHTTP2, answering: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
        defer { upstream.stop() }
        let client = try bench.client { $0.responseByteCountMax = 4999 }
        #expect(try bench.outcome(client, .get(server.port)) == .failure(.tooLarge))
        let larger = try bench.client { $0.responseByteCountMax = 5000 }
        #expect(try bench.outcome(larger, .get(server.port)).get().body.count == 5000)
    }

    @Test("gives up a head without end")
    func longHead() throws {
        let fields = (0..<600).map { "X-\($0): \(String(repeating: "x", count: 80))\r\n" }.joined()
        let (process, port) = try bench.scripted("HTTP/1.1 200 OK\r\n\(fields)\r\n")
        defer { process.kill() }
        #expect(try bench.outcome(try bench.client(), .get(port)) == .failure(.tooLarge))
    }

    @Test(
        "takes nothing for HTTP that is not",
        arguments: [
            "garbage\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\r\n\r\n", "HTTP/1.1 OK\r\n\r\n",
        ])
    func garbage(answer: String) throws {
        let (process, port) = try bench.scripted(answer)
        defer { process.kill() }
        let outcome = try bench.outcome(try bench.client(), .get(port))
        switch outcome {
        case .failure(.malformed), .failure(.cut): break
        default: Issue.record("\(outcome)")
        }
    }

    @Test("says a server that ends without a word has cut the answer")
    func empty() throws {
        let (process, port) = try bench.scripted("")
        defer { process.kill() }
        let outcome = try bench.outcome(try bench.client(), .get(port))
        guard case .failure(.cut) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("waits no longer than it was told")
    func timeout() throws {
        // It takes the connection and says nothing.
        let silent = try LoopbackListener { socket in
            while (try? socket.receive())?.isEmpty == false {}
        }
        defer { silent.stop() }
        let server = try bench.nginx(
            "location / { proxy_read_timeout 600s; proxy_pass http://127.0.0.1:\(silent.port); }")
        let client = try bench.client { $0.timeout = .milliseconds(300) }
        #expect(try bench.outcome(client, .get(server.port)) == .failure(.timedOut))
        let impatient = try bench.client { $0.connectTimeout = .milliseconds(300) }
        #expect(try bench.outcome(impatient, .get(silent.port)) == .failure(.timedOut))
    }

    @Test("believes nobody whom its authorities do not vouch for, nor another name")
    func untrusted() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let other = try TestCertificate.authority(in: bench.directory, "other")
        for (client, host) in [
            (try bench.client(trusting: other), "127.0.0.1"), (try bench.client(), "127.0.0.2"),
        ] {
            let outcome = try bench.outcome(client, .get(server.port, host: host))
            switch outcome {
            case .failure(.untrusted): break
            // nginx listens on one address only.
            case .failure(.unreachable) where host == "127.0.0.2": break
            default: Issue.record("\(host): \(outcome)")
            }
        }
        let named = try TestCertificate(
            in: bench.directory, "elsewhere", names: ["elsewhere.example"],
            issuer: bench.authority)
        let elsewhere = try NginxServer(
            locations: """
                ssl_certificate \(named.certificatePath);
                ssl_certificate_key \(named.keyPath);
                """, options: "ssl")
        let outcome = try bench.outcome(try bench.client(), .get(elsewhere.port))
        guard case .failure(.untrusted) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("tells whom it could not reach, and speaks nothing but https")
    func unreachable() throws {
        let client = try bench.client()
        let nobody = FreePort.find()
        let outcome = try bench.outcome(client, .get(nobody))
        guard case .failure(.unreachable) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        for url in ["http://127.0.0.1:\(nobody)/", "file:///etc/hostname", "", "https://"] {
            let outcome = try bench.outcome(client, HTTPSRequest(url: url, method: .get))
            #expect(throws: HTTPSFailure.self, "\(url)") { try outcome.get() }
        }
        var request = HTTPSRequest.get(nobody)
        request.fields = [HTTPSField("X", "a\r\nY: b")]
        #expect(
            try bench.outcome(client, request) == .failure(.failed("a field that is none")))
    }
}
