import EventLoop
import Foundation
import GatewayTesting
import TLS
import Testing

@Suite("Sessions of clients with certificates")
struct TLSServerTicketTests {
    private final class Clock: @unchecked Sendable {
        var seconds = Int64(Date().timeIntervalSince1970)
    }

    private let minted: Minted
    private let clock = Clock()

    init() throws { minted = try Minted.shared.get() }
}

extension TLSServerTicketTests {
    private func server(
        isRequired: Bool, revocations: TLSRevocations? = nil
    ) throws -> TLSServerContext {
        var configuration = try minted.server([minted.ecdsa])
        configuration.clientCertificates = .init(
            isRequired: isRequired,
            authorities: try TLSAuthorities(
                pem: minted.authority.certificatePEM, revocations: revocations))
        return try TLSServerContext(
            configuration, ticketKeys: TLSTicketKeys(lifetime: .seconds(86_400)),
            clock: { [clock] in clock.seconds })
    }

    /// Whether the server resumed the session, on a connection whose tickets the client keeps.
    private func connect(
        _ server: TLSServerContext, _ sessions: TLSClientSessions
    ) throws -> Bool {
        let pair = try TLSPair(server: server) { try sessions.connect($0, now: .now()) }
        #expect(try pair.handshake() == nil)
        let byte: [UInt8] = [0x61]
        #expect(pair.server.write(byte.span) == .bytes(1))
        #expect(pair.read(pair.client).0 == .bytes(1))
        sessions.keep(pair.client)
        return pair.server.isResumed
    }

    private func sessions(_ certificate: TestCertificate?) throws -> TLSClientSessions {
        var configuration = try minted.client()
        configuration.identity = try certificate.map { try minted.identity($0) }
        return TLSClientSessions(
            try TLSClientContext(configuration), serverName: "a.example", isAddress: false)
    }

    @Test("are resumed for no longer than the certificate is good, however often meanwhile")
    func certificateEnd() throws {
        let server = try server(isRequired: true)
        let sessions = try sessions(minted.rsa)
        #expect(try !connect(server, sessions))
        #expect(try connect(server, sessions))
        // Certificates of tests are good for 30 days.
        clock.seconds += 29 * 86_400
        #expect(try connect(server, sessions))
        clock.seconds += 2 * 86_400
        // The handshake is a full one, in which OpenSSL judges by the machine's own clock.
        #expect(try !connect(server, sessions))
    }

    @Test(
        "are resumed for no longer than the lists of revoked certificates hold",
        arguments: [[false], [true, false]])
    func listEnd(haveExpired: [Bool]) throws {
        let revocations = try TestRevocations(of: minted.authority)
        var pem: [UInt8] = []
        for isExpired in haveExpired {
            let path = minted.directory.path(of: "ticket-\(haveExpired.count)-\(isExpired).crl")
            try revocations.write(to: path, isExpired: isExpired)
            pem += try Data(contentsOf: URL(fileURLWithPath: path))
        }
        let server = try server(isRequired: true, revocations: try TLSRevocations(pem: pem))
        let sessions = try sessions(minted.rsa)
        #expect(try !connect(server, sessions))
        // They hold for 7 days.
        clock.seconds += 6 * 86_400
        #expect(try connect(server, sessions))
        clock.seconds += 2 * 86_400
        #expect(try !connect(server, sessions))
    }

    @Test("are resumed as ever where the client has shown none")
    func noCertificate() throws {
        let server = try server(isRequired: false)
        let sessions = try sessions(nil)
        #expect(try !connect(server, sessions))
        clock.seconds += 31 * 86_400
        #expect(try connect(server, sessions))
    }
}
