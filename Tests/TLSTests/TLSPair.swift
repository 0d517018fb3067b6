import Bytes
import EventLoop
import GatewayTesting
import TLS
import Testing

/// Certificates of a test's own, minted once.
struct Minted {
    static let shared = Result { try Minted() }

    let directory: ScratchDirectory
    let authority: TestCertificate
    let ecdsa: TestCertificate
    let rsa: TestCertificate
    let wild: TestCertificate

    private init() throws {
        // As the gateway does: a peer that is gone is an error of the write.
        SignalWatch.ignoreBrokenPipes()
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
        let names = ["a.example", "127.0.0.1"]
        ecdsa = try TestCertificate(in: directory, "ecdsa", names: names, issuer: authority)
        rsa = try TestCertificate(in: directory, "rsa", names: names, kind: .rsa, issuer: authority)
        wild = try TestCertificate(in: directory, "wild", names: ["*.b.example"], issuer: authority)
    }

    func identity(_ certificate: TestCertificate) throws -> TLSIdentity {
        try TLSIdentity(
            certificatePEM: certificate.certificatePEM, keyPEM: certificate.keyPEM)
    }

    func server(_ certificates: [TestCertificate]) throws -> TLSServerConfiguration {
        TLSServerConfiguration(
            certificates: try certificates.map { .init(identity: try identity($0)) })
    }

    func client() throws -> TLSClientConfiguration {
        TLSClientConfiguration(authorities: try TLSAuthorities(pem: authority.certificatePEM))
    }
}

/// Both ends of a connection in one thread.
final class TLSPair {
    let client: TLSSession
    let server: TLSSession
    let ends: (client: Int32, server: Int32)
    private var isClientOpen = true

    convenience init(
        server: TLSServerConfiguration, client: TLSClientConfiguration,
        name: String = "a.example", keys: TLSTicketKeys = TLSTicketKeys(lifetime: .seconds(60))
    ) throws {
        try self.init(server: TLSServerContext(server, ticketKeys: keys)) { descriptor in
            try TLSSession(
                client: TLSClientContext(client), serverName: name,
                isAddress: name.allSatisfy { $0.isNumber || $0 == "." }, descriptor: descriptor)
        }
    }

    convenience init(server: TLSServerContext, makeClient: (Int32) throws -> TLSSession) throws {
        try self.init(server: server, ends: Socket.pair(), makeClient: makeClient)
    }

    init(
        server: TLSServerContext, ends: (client: Int32, server: Int32),
        makeClient: (Int32) throws -> TLSSession
    ) throws {
        self.ends = ends
        self.server = try TLSSession(server: server, descriptor: ends.server)
        client = try makeClient(ends.client)
    }

    deinit {
        closeClient()
        Socket.close(ends.server)
    }

    func closeClient() {
        guard isClientOpen else { return }
        isClientOpen = false
        // A program that another test is just starting may hold a copy of the descriptor.
        Socket.shutdownWrite(ends.client)
        Socket.close(ends.client)
    }

    /// Takes turns until both are done; the failure of the side that failed first.
    func handshake() throws -> TLSFailure? {
        var done = (client: false, server: false)
        for _ in 0..<20 where !done.client || !done.server {
            if !done.client {
                switch client.handshake() {
                case .complete: done.client = true
                case .failed(let failure): return failure
                case .wantRead, .wantWrite: break
                }
            }
            if !done.server {
                switch server.handshake() {
                case .complete: done.server = true
                case .failed(let failure): return failure
                case .wantRead, .wantWrite: break
                }
            }
        }
        try #require(done.client && done.server)
        return nil
    }

    /// What one side reads now.
    func read(_ session: TLSSession, atMost count: Int = 64 * 1024) -> (TLSReadOutcome, [UInt8]) {
        var buffer = ByteBuffer()
        let outcome = session.read(into: &buffer, atMost: count)
        let bytes = buffer.readable
        return (outcome, bytes.array)
    }
}
