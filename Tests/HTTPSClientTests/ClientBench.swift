import EventLoop
import GatewayTesting
import HTTPSClient
import TLS
import Testing

/// A client on a loop of the test's own thread, and an authority that it trusts.
final class ClientBench {
    typealias Outcome = Result<HTTPSResponse, HTTPSFailure>

    let loop: EventLoop
    let directory: ScratchDirectory
    let authority: TestCertificate
    /// Of 127.0.0.1 and localhost.
    let host: TestCertificate

    init() throws {
        loop = try EventLoop()
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
        host = try TestCertificate(
            in: directory, "host", names: ["127.0.0.1", "localhost"], issuer: authority)
    }

    func client(
        trusting trusted: TestCertificate? = nil,
        _ change: (inout HTTPSConfiguration) -> Void = { _ in }
    ) throws -> HTTPSClient {
        var configuration = HTTPSConfiguration(
            authorities: try TLSAuthorities(pem: (trusted ?? authority).certificatePEM))
        configuration.proxy = .direct
        configuration.connectTimeout = .seconds(20)
        configuration.timeout = .seconds(60)
        change(&configuration)
        return try HTTPSClient(loop: loop, configuration)
    }

    /// A real nginx with TLS, and HTTP/2 unless it must not.
    func nginx(_ locations: String, isHTTP2: Bool = true) throws -> NginxServer {
        try NginxServer(
            locations: """
                ssl_certificate \(host.certificatePath);
                ssl_certificate_key \(host.keyPath);
                \(locations)
                """, options: isHTTP2 ? "ssl http2" : "ssl")
    }

    /// A server of one connection that reads a head, sends `answer` as it is and ends; where it is
    /// cut, without the word of TLS that this was all.
    func scripted(
        _ answer: String, isCut: Bool = false
    ) throws -> (process: ChildProcess, port: UInt16) {
        let process = try ChildProcess(
            PythonInterpreter.debian.path,
            ["-c", Self.script, host.certificatePath, host.keyPath, answer, isCut ? "cut" : ""])
        let line = try process.waitForLine(on: .standardOutput) { !$0.isEmpty }
        return (process, try #require(UInt16(line)))
    }

    private static let script = """
        import socket, ssl, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        plain, _ = listener.accept()
        with context.wrap_socket(plain, server_side=True) as connection:
            head = b""
            while b"\\r\\n\\r\\n" not in head:
                head += connection.recv(65536)
            connection.sendall(sys.argv[3].encode())
            if sys.argv[4]:
                socket.socket(fileno=connection.detach()).close()
            else:
                connection.unwrap()
        """

    /// Runs the loop until every request has ended.
    func outcomes(_ client: HTTPSClient, _ requests: [HTTPSRequest]) throws -> [Outcome] {
        var outcomes = [Outcome?](repeating: nil, count: requests.count)
        var leftCount = requests.count
        for (index, request) in requests.enumerated() {
            client.send(request) { [loop] outcome in
                outcomes[index] = outcome
                leftCount -= 1
                if leftCount == 0 { loop.stop() }
            }
        }
        loop.run()
        return outcomes.compactMap(\.self)
    }

    func outcome(_ client: HTTPSClient, _ request: HTTPSRequest) throws -> Outcome {
        try #require(try outcomes(client, [request]).first)
    }
}

extension HTTPSRequest {
    static func get(_ port: UInt16, _ path: String = "/", host: String = "127.0.0.1") -> Self {
        HTTPSRequest(url: "https://\(host):\(port)\(path)", method: .get)
    }

    static func post(_ port: UInt16, _ path: String = "/", _ body: [UInt8]) -> Self {
        HTTPSRequest(url: "https://127.0.0.1:\(port)\(path)", method: .post(body: body))
    }
}
