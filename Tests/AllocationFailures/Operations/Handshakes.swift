import Bytes
import Crypto
import EventLoop
import GatewayTesting
import TLS

extension Operation {
    /// Whole connections, both ends in one thread, with a message there and one back.
    static func handshakes(_ inputs: Inputs) throws -> [Operation] {
        SignalWatch.ignoreBrokenPipes()
        func identity(_ certificate: TestCertificate) throws -> TLSIdentity {
            try TLSIdentity(
                certificatePEM: certificate.certificatePEM, keyPEM: certificate.keyPEM)
        }
        let server = try TLSServerConfiguration.Certificate(identity: identity(inputs.server))
        let wild = try TLSServerConfiguration.Certificate(identity: identity(inputs.wild))
        let authorities = try TLSAuthorities(pem: inputs.authority.certificatePEM)
        let trusting = TLSClientConfiguration(authorities: authorities)
        var plain = TLSServerConfiguration(certificates: [server, wild])
        plain.protocols = ["h2", "http/1.1"]
        var asking = plain
        asking.clientCertificates = .init(
            isRequired: true,
            authorities: try TLSAuthorities(
                pem: inputs.authority.certificatePEM,
                revocations: TLSRevocations(pem: inputs.revocationsPEM)))
        func showing(_ certificate: TestCertificate) throws -> TLSClientConfiguration {
            var configuration = trusting
            configuration.identity = try identity(certificate)
            return configuration
        }
        let strange = TLSServerConfiguration(certificates: [
            .init(identity: try identity(inputs.stranger))
        ])
        let good = try Connecting(plain, trusting)
        let named = try Connecting(plain, trusting, name: "x.b.example")
        let mutual = try Connecting(asking, showing(inputs.client))
        let revoked = try Connecting(asking, showing(inputs.revoked))
        let foreign = try Connecting(asking, showing(inputs.stranger))
        let bare = try Connecting(asking, trusting)
        let untrusted = try Connecting(strange, trusting)
        let misnamed = try Connecting(plain, trusting, name: "c.example")
        return [
            Operation("TLS: good") { .good { try good.exchange() == .both } },
            Operation("TLS: the second name") { .good { try named.exchange() == .both } },
            Operation("TLS: resumed") { .good { try good.resume() } },
            Operation("TLS: client with a certificate") {
                .good { try mutual.exchange() == .both }
            },
            Operation("TLS: client with a revoked one") { .bad { try revoked.exchange().server } },
            Operation("TLS: client with another's") { .bad { try foreign.exchange().server } },
            Operation("TLS: client without one") { .bad { try bare.exchange().server } },
            Operation("TLS: server that nobody vouches for") {
                .bad { try untrusted.exchange().client }
            },
            Operation("TLS: server of another name") { .bad { try misnamed.exchange().client } },
        ]
    }
}

/// Both sides of connections.
private struct Connecting {
    /// Who has received what the other side sent.
    struct Heard: Equatable {
        var client = false
        var server = false
        static let both = Heard(client: true, server: true)
    }

    private let server: TLSServerContext
    private let client: TLSClientContext
    private let name: String
    private static let message = Array("hello, and so on".utf8)

    init(
        _ server: TLSServerConfiguration, _ client: TLSClientConfiguration,
        name: String = "a.example"
    ) throws {
        let keys = TLSTicketKeys(keys: [Operation.ticketKey], lifetime: .seconds(60))
        self.server = try TLSServerContext(server, ticketKeys: keys)
        self.client = try TLSClientContext(client)
        self.name = name
    }

    func exchange() throws -> Heard {
        let sessions = TLSClientSessions(client, serverName: name, isAddress: false)
        return try exchange(sessions).heard
    }

    /// Whether a second connection resumes the session of the first and is as good.
    func resume() throws -> Bool {
        let sessions = TLSClientSessions(client, serverName: name, isAddress: false)
        guard try exchange(sessions).heard == .both else { return false }
        let second = try exchange(sessions)
        return second.heard == .both && second.isResumed
    }

    private func exchange(
        _ sessions: TLSClientSessions
    ) throws -> (heard: Heard, isResumed: Bool) {
        let (left, right) = try Socket.pair()
        defer {
            Socket.close(left)
            Socket.close(right)
        }
        defer { ErrorQueue.clear() }
        let serving = try TLSSession(server: server, descriptor: right)
        let asking = try sessions.connect(left, now: .now())
        var heard = Heard()
        guard handshake(asking, serving) else { return (heard, false) }
        guard case .bytes = asking.write(Self.message.span) else { return (heard, false) }
        heard.server = read(serving) == Self.message
        guard case .bytes = serving.write(Self.message.span) else { return (heard, false) }
        heard.client = read(asking) == Self.message
        sessions.keep(asking)
        asking.sendClose()
        serving.sendClose()
        return (heard, asking.isResumed)
    }

    private func handshake(_ asking: TLSSession, _ serving: TLSSession) -> Bool {
        var pending = [asking, serving]
        for _ in 0..<20 where !pending.isEmpty {
            for session in pending {
                switch session.handshake() {
                case .complete: pending.removeAll { $0 === session }
                case .failed: return false
                case .wantRead, .wantWrite: break
                }
            }
        }
        return pending.isEmpty
    }

    private func read(_ session: TLSSession) -> [UInt8] {
        var buffer = ByteBuffer()
        _ = session.read(into: &buffer, atMost: 1024)
        return buffer.readable.array
    }
}
