import Bytes
import EventLoop
import GatewayTesting
import HTTPSClient
import Testing

/// A proxy of one kind, that tells what it was asked.
private struct TestProxy {
    enum Kind: String, CaseIterable {
        case http
        case https
        case socks5
        case socks5h
    }

    let kind: Kind
    let process: ChildProcess
    let port: UInt16

    /// `certificate`: of a proxy that speaks TLS. `status`: it lets nobody through.
    init(_ kind: Kind, certificate: TestCertificate, status: Int? = nil) throws {
        self.kind = kind
        process = try ChildProcess(
            PythonInterpreter.debian.path,
            [
                "-c", Self.script, kind.rawValue, certificate.certificatePath, certificate.keyPath,
                status.map { "\($0)" } ?? "",
            ])
        let line = try process.waitForLine(on: .standardOutput) { !$0.isEmpty }
        port = try #require(UInt16(line))
    }

    func url(login: String = "", host: String = "127.0.0.1") -> String {
        "\(kind.rawValue)://\(login)\(host):\(port)"
    }

    private static let script = """
        import socket, ssl, sys, threading
        kind, certificate, key, status = sys.argv[1:]
        def pump(source, sink):
            try:
                while data := source.recv(65536):
                    sink.sendall(data)
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        def exactly(client, count):
            data = b""
            while len(data) < count:
                data += client.recv(count - len(data)) or sys.exit()
            return data
        def connect(client):
            head = b""
            while b"\\r\\n\\r\\n" not in head:
                head += client.recv(65536) or sys.exit()
            print(head.decode().replace("\\r\\n", "|"), flush=True)
            if status:
                client.sendall(f"HTTP/1.1 {status} No\\r\\nContent-Length: 0\\r\\n\\r\\n".encode())
                client.close()
                sys.exit()
            place = head.split()[1].decode().rsplit(":", 1)
            answer = b"HTTP/1.1 200 Connection established\\r\\nX-Proxy: yes\\r\\n\\r\\n"
            return place, answer
        def socks(client):
            version, count = exactly(client, 2)
            methods = exactly(client, count)
            login = "none"
            if 2 in methods:
                client.sendall(bytes([5, 2]))
                exactly(client, 1)
                user = exactly(client, exactly(client, 1)[0]).decode()
                word = exactly(client, exactly(client, 1)[0]).decode()
                login = f"{user} {word}"
                client.sendall(bytes([1, 0]))
            else:
                client.sendall(bytes([5, 0]))
            version, command, _, form = exactly(client, 4)
            if form == 3:
                host = exactly(client, exactly(client, 1)[0]).decode()
            else:
                host = socket.inet_ntoa(exactly(client, 4))
            port = int.from_bytes(exactly(client, 2), "big")
            print(f"SOCKS {form} {host}:{port} {login}", flush=True)
            code = 2 if status else 0
            answer = bytes([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
            if status:
                client.sendall(answer)
                client.close()
                sys.exit()
            return (host, port), answer
        def serve(client):
            if kind == "https":
                try:
                    client = context.wrap_socket(client, server_side=True)
                except OSError:
                    return
            (host, port), answer = socks(client) if kind.startswith("socks") else connect(client)
            server = socket.create_connection((host, int(port)))
            client.sendall(answer)
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            pump(server, client)
        if kind == "https":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()
        """
}

@Suite("Proxies", .enabled(if: NginxServer.isInstalled), .timeLimit(.minutes(30)))
struct HTTPSProxyTests {
    private let bench: ClientBench

    init() throws { bench = try ClientBench() }
}

extension HTTPSProxyTests {
    private func proxy(_ kind: TestProxy.Kind, status: Int? = nil) throws -> TestProxy {
        try TestProxy(kind, certificate: bench.host, status: status)
    }

    @Test("carry requests, logged in, with TLS from end to end", arguments: TestProxy.Kind.allCases)
    fileprivate func through(_ kind: TestProxy.Kind) throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let proxy = try proxy(kind)
        defer { proxy.process.kill() }
        let client = try bench.client { $0.proxy = .url(proxy.url(login: "user:word@")) }
        let answer = try bench.outcome(client, .get(server.port, host: "localhost")).get()
        #expect(answer.status == 200 && answer.isHTTP2)
        #expect(answer.field("x-proxy") == nil)
        let line = try proxy.process.waitForLine(on: .standardOutput, from: 1) { !$0.isEmpty }
        switch kind {
        case .http, .https:
            #expect(line.contains("CONNECT localhost:\(server.port) HTTP/1.1"))
            let login = Base64.encode(Array("user:word".utf8))
            #expect(line.contains("Proxy-Authorization: Basic \(login)"))
        // Whoever resolves the name: the gateway, or the proxy.
        case .socks5: #expect(line == "SOCKS 1 127.0.0.1:\(server.port) user word")
        case .socks5h: #expect(line == "SOCKS 3 localhost:\(server.port) user word")
        }
    }

    @Test("that speak TLS are believed where the authorities vouch for them, and by their names")
    func untrusted() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let stranger = try TestCertificate.authority(in: bench.directory, "stranger")
        for (name, issuer) in [("127.0.0.1", stranger), ("elsewhere.example", bench.authority)] {
            let certificate = try TestCertificate(
                in: bench.directory, "proxy", names: [name], issuer: issuer)
            let proxy = try TestProxy(.https, certificate: certificate)
            defer { proxy.process.kill() }
            let client = try bench.client { $0.proxy = .url(proxy.url()) }
            let outcome = try bench.outcome(client, .get(server.port))
            guard case .failure(.untrusted) = outcome else {
                Issue.record("\(name): \(outcome)")
                continue
            }
        }
    }

    @Test("that do not let a request through are told from servers", arguments: [403, 407, 502])
    func refused(status: Int) throws {
        for kind in [TestProxy.Kind.http, .https] {
            let proxy = try proxy(kind, status: status)
            defer { proxy.process.kill() }
            let client = try bench.client { $0.proxy = .url(proxy.url()) }
            let outcome = try bench.outcome(client, .get(FreePort.find()))
            #expect(outcome == .failure(.proxyRefused(status)))
        }
    }

    @Test("of SOCKS that do not let a request through make the server unreachable")
    func refusedBySocks() throws {
        let proxy = try proxy(.socks5, status: 1)
        defer { proxy.process.kill() }
        let client = try bench.client { $0.proxy = .url(proxy.url()) }
        let outcome = try bench.outcome(client, .get(FreePort.find()))
        guard case .failure(.unreachable) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("that are not there are not gone around", arguments: TestProxy.Kind.allCases)
    fileprivate func away(_ kind: TestProxy.Kind) throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let url = "\(kind.rawValue)://127.0.0.1:\(FreePort.find())"
        let client = try bench.client { $0.proxy = .url(url) }
        let outcome = try bench.outcome(client, .get(server.port))
        guard case .failure(.unreachable) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }
}
