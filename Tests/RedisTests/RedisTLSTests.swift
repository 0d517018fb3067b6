import GatewayTesting
import Redis
import TLS
import Testing

@Suite("TLS to Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisTLSTests {
    private let directory: ScratchDirectory
    private let authority: TestCertificate

    init() throws {
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
    }
}

extension RedisTLSTests {
    private func configuration(
        _ server: RedisServer, trusting authority: TestCertificate, serverName: String? = nil,
        host: String = "127.0.0.1", identity: TestCertificate? = nil
    ) throws -> RedisConfiguration {
        var client = TLSClientConfiguration(
            authorities: try TLSAuthorities(pem: authority.certificatePEM))
        if let identity {
            client.identity = try TLSIdentity(
                certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM)
        }
        let port = try #require(server.tlsPort)
        var configuration = RedisConfiguration(endpoint: .tcp(host: host, port: port))
        configuration.tls = RedisTLS(
            context: try TLSClientContext(client), serverName: serverName)
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        return configuration
    }

    private func certificate(_ names: [String], _ fileName: String = "server") throws
        -> TestCertificate
    {
        try TestCertificate(in: directory, fileName, names: names, issuer: authority)
    }

    @Test("carries thousands of commands and answers of many records")
    func commands() throws {
        let server = try RedisServer(certificate: certificate(["127.0.0.1"]))
        let bench = try ConnectionBench(configuration(server, trusting: authority))
        try bench.open()
        let long = String(repeating: "x", count: 30_000)
        #expect(try bench.outcome("ECHO", long) == .reply(.bulk(Array(long.utf8))))
        let commands = (0..<3000).map { RedisCommand("ECHO", "\($0)") }
        let expected = (0..<3000).map { RedisOutcome.reply(.bulk(Array("\($0)".utf8))) }
        #expect(try bench.outcomes(commands) == expected)
    }

    @Test("expects the name that it was told, or the host's own")
    func names() throws {
        let server = try RedisServer(certificate: certificate(["redis.example", "localhost"]))
        let told = try ConnectionBench(
            configuration(server, trusting: authority, serverName: "redis.example"))
        try told.open()
        let own = try ConnectionBench(
            configuration(server, trusting: authority, host: "localhost"))
        try own.open()
        let wrong = try ConnectionBench(configuration(server, trusting: authority))
        wrong.connection?.open()
        try wrong.run { !wrong.failures.isEmpty }
        guard case .tls = wrong.failures.first else {
            Issue.record("\(wrong.failures)")
            return
        }
    }

    @Test("refuses a server that another authority vouches for")
    func strangers() throws {
        let other = try TestCertificate.authority(in: directory, "other")
        let server = try RedisServer(certificate: certificate(["127.0.0.1"]))
        let bench = try ConnectionBench(configuration(server, trusting: other))
        bench.connection?.open()
        try bench.run { !bench.failures.isEmpty }
        #expect(bench.failures.first?.description.contains("TLS") == true)
        #expect(bench.readyCount == 0)
    }

    @Test("shows its own certificate where the server wants one")
    func identities() throws {
        let server = try RedisServer(
            certificate: certificate(["127.0.0.1"]), authority: authority)
        let known = try ConnectionBench(
            configuration(
                server, trusting: authority, identity: certificate(["gateway"], "client")))
        try known.open()
        #expect(try known.outcome("PING") == .reply(.simpleString("PONG")))
        let unknown = try ConnectionBench(configuration(server, trusting: authority))
        // In TLS 1.3 the server refuses after the client's handshake is done.
        unknown.handshake = { $0 == nil ? .send(RedisCommand("PING")) : .finished }
        unknown.connection?.open()
        try unknown.run { !unknown.failures.isEmpty }
        #expect(unknown.readyCount == 0)
    }

    @Test("comes back when the server was killed, and says what is lost")
    func restart() throws {
        let server = try RedisServer(certificate: certificate(["127.0.0.1"]))
        let bench = try ConnectionBench(configuration(server, trusting: authority))
        try bench.open()
        try server.kill()
        try bench.run { !bench.failures.isEmpty }
        try server.start()
        try bench.run { bench.connection?.isReady == true }
        #expect(try bench.outcome("PING") == .reply(.simpleString("PONG")))
    }

    @Test("speaks to a port without TLS in vain")
    func clearText() throws {
        let server = try RedisServer(certificate: certificate(["127.0.0.1"]))
        var configuration = try configuration(server, trusting: authority)
        configuration.endpoints = [.tcp(host: "127.0.0.1", port: server.port)]
        configuration.connectTimeout = .milliseconds(300)
        let bench = try ConnectionBench(configuration)
        bench.connection?.open()
        try bench.run { !bench.failures.isEmpty }
        #expect(bench.readyCount == 0)
    }
}
