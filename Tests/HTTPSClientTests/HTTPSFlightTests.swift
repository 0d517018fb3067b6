import Bytes
import EventLoop
import GatewayTesting
import HTTPSClient
import Testing

@Suite("Requests in flight", .enabled(if: NginxServer.isInstalled), .timeLimit(.minutes(10)))
struct HTTPSFlightTests {
    private let bench: ClientBench

    init() throws { bench = try ClientBench() }

    @Test("share one connection by HTTP/2, up to their bound and no further")
    func bound() throws {
        let server = try bench.nginx(
            "location / { return 200 $connection; }")
        let client = try bench.client { $0.inFlightCountMax = 20 }
        let requests = Array(repeating: HTTPSRequest.get(server.port), count: 25)
        let outcomes = try bench.outcomes(client, requests)
        #expect(outcomes.count == 25)
        #expect(outcomes.filter { $0 == .failure(.tooManyInFlight) }.count == 5)
        let bodies = outcomes.compactMap { try? $0.get().body }
        #expect(bodies.count == 20)
        #expect(Set(bodies).count == 1)
        #expect(client.inFlightCount == 0)
        // There is room again.
        #expect(try bench.outcome(client, .get(server.port)).get().status == 200)
    }

    @Test("that are cancelled say nothing, and make room")
    func cancellation() throws {
        let silent = try LoopbackListener { socket in
            while (try? socket.receive())?.isEmpty == false {}
        }
        defer { silent.stop() }
        let server = try bench.nginx("location / { return 200 hello; }")
        let client = try bench.client { $0.inFlightCountMax = 1 }
        let call = client.send(.get(silent.port)) { _ in Issue.record("a cancelled call spoke") }
        #expect(client.inFlightCount == 1)
        call.cancel()
        call.cancel()
        #expect(client.inFlightCount == 0)
        #expect(try bench.outcome(client, .get(server.port)).get().status == 200)
    }

    @Test("end when the client is closed, and nothing is sent afterwards")
    func closing() throws {
        let silent = try LoopbackListener { socket in
            while (try? socket.receive())?.isEmpty == false {}
        }
        defer { silent.stop() }
        let client = try bench.client()
        var outcomes: [ClientBench.Outcome] = []
        for _ in 0..<3 { client.send(.get(silent.port)) { outcomes.append($0) } }
        let timer = Timer(loop: bench.loop) { [loop = bench.loop] in
            client.close()
            loop.stop()
        }
        timer.schedule(after: .milliseconds(50))
        bench.loop.run()
        #expect(outcomes == Array(repeating: .failure(.closed), count: 3))
        client.close()
        #expect(try bench.outcome(client, .get(silent.port)) == .failure(.closed))
    }

    @Test("go with the client that is dropped, also from within a handler")
    func dropping() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        var client: HTTPSClient? = try bench.client()
        var count = 0
        for _ in 0..<5 {
            client?.send(.get(server.port)) { [loop = bench.loop] _ in
                count += 1
                client = nil
                loop.stop()
            }
        }
        bench.loop.run()
        #expect(count >= 1)
        #expect(client == nil)
    }

    @Test("go on one after the other from within handlers")
    func chain() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let client = try bench.client()
        var leftCount = 20
        func next() {
            client.send(.get(server.port)) { [loop = bench.loop] outcome in
                #expect((try? outcome.get().status) == 200)
                leftCount -= 1
                if leftCount == 0 { loop.stop() } else { next() }
            }
        }
        next()
        bench.loop.run()
        #expect(leftCount == 0)
    }

    // MARK: proxies

    /// Carries CONNECT to where it is asked to, and remembers where that was.
    private func proxy(
        refusing status: Int? = nil
    ) throws -> (process: ChildProcess, port: UInt16) {
        let process = try ChildProcess(
            "python3", ["-c", Self.proxyScript, status.map { "\($0)" } ?? ""])
        let line = try process.waitForLine(on: .standardOutput) { !$0.isEmpty }
        return (process, try #require(UInt16(line)))
    }

    private static let proxyScript = """
        import socket, sys, threading
        def pump(source, sink):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        def serve(client):
            head = b""
            while b"\\r\\n\\r\\n" not in head:
                data = client.recv(65536)
                if not data: return
                head += data
            print(head.decode().replace("\\r\\n", "|"), flush=True)
            if sys.argv[1]:
                status = f"HTTP/1.1 {sys.argv[1]} No\\r\\nContent-Length: 0\\r\\n\\r\\n"
                client.sendall(status.encode())
                return client.close()
            host, port = head.split()[1].decode().rsplit(":", 1)
            server = socket.create_connection((host, int(port)))
            client.sendall(b"HTTP/1.1 200 Connection established\\r\\nX-Proxy: yes\\r\\n\\r\\n")
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            pump(server, client)
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()
        """

    @Test("go through a proxy, logged in, with TLS from end to end")
    func throughProxy() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let (process, port) = try proxy()
        let client = try bench.client {
            $0.proxy = .url("http://user:word@127.0.0.1:\(port)")
        }
        let answer = try bench.outcome(client, .get(server.port)).get()
        #expect(answer.status == 200 && answer.isHTTP2)
        #expect(answer.field("x-proxy") == nil)
        let line = try process.waitForLine(on: .standardOutput, containing: "CONNECT ")
        #expect(line.contains("CONNECT 127.0.0.1:\(server.port) HTTP/1.1"))
        #expect(
            line.contains("Proxy-Authorization: Basic \(Base64.encode(Array("user:word".utf8)))"))
    }

    @Test("tell a proxy's refusal from a server's", arguments: [403, 407, 502])
    func refusedByProxy(status: Int) throws {
        let (process, port) = try proxy(refusing: status)
        defer { process.kill() }
        let client = try bench.client { $0.proxy = .url("http://127.0.0.1:\(port)") }
        let outcome = try bench.outcome(client, .get(FreePort.find()))
        #expect(outcome == .failure(.proxyRefused(status)))
    }

    @Test("fail where the proxy is not there, and do not go around it")
    func proxyAway() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let client = try bench.client { $0.proxy = .url("http://127.0.0.1:\(FreePort.find())") }
        let outcome = try bench.outcome(client, .get(server.port))
        guard case .failure(.unreachable) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }
}
