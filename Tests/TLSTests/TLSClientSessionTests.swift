import Bytes
import EventLoop
import GatewayTesting
import TLS
import Testing

@Suite("Resumed TLS sessions of clients")
struct TLSClientSessionTests {
    private let server: TLSServerContext
    private let client: TLSClientContext
    private let start = MonotonicInstant.now()

    init() throws {
        let minted = try Minted.shared.get()
        server = try TLSServerContext(
            minted.server([minted.ecdsa]), ticketKeys: TLSTicketKeys(lifetime: .seconds(86_400)))
        client = try TLSClientContext(minted.client())
    }
}

extension TLSClientSessionTests {
    private func sessions(_ context: TLSClientContext? = nil) -> TLSClientSessions {
        TLSClientSessions(context ?? client, serverName: "a.example", isAddress: false)
    }

    /// A connection after `seconds` on which one byte has come, and so the server's tickets.
    private func connect(
        _ sessions: TLSClientSessions, after seconds: Int = 0,
        _ body: (TLSSession) -> Void = { _ in }
    ) throws -> Bool {
        let now = start + .seconds(seconds)
        let pair = try TLSPair(server: server) { try sessions.connect($0, now: now) }
        #expect(try pair.handshake() == nil)
        let byte: [UInt8] = [0x61]
        #expect(pair.server.write(byte.span) == .bytes(1))
        #expect(pair.read(pair.client) == (.bytes(1), byte))
        body(pair.client)
        #expect(pair.client.isResumed == pair.server.isResumed)
        return pair.client.isResumed
    }

    /// In TLS 1.3.
    @Test("are taken up once each, and leave another one behind")
    func resumption() throws {
        let sessions = sessions()
        #expect(try !connect(sessions))
        #expect(try !connect(sessions, sessions.keep))
        #expect(try connect(sessions))
        // A ticket of TLS 1.3 is not sent twice.
        #expect(try !connect(sessions, sessions.keep))
        for _ in 0..<3 { #expect(try connect(sessions, sessions.keep)) }
    }

    @Test("are not taken up an hour after the certificate was seen, however often in between")
    func age() throws {
        let sessions = sessions()
        #expect(try !connect(sessions, sessions.keep))
        #expect(try connect(sessions, after: 1800, sessions.keep))
        #expect(try connect(sessions, after: 3599, sessions.keep))
        #expect(try !connect(sessions, after: 3600, sessions.keep))
        #expect(try connect(sessions, after: 5400, sessions.keep))
    }

    @Test("of another context, or where it allows none, are not kept")
    func otherContext() throws {
        let minted = try Minted.shared.get()
        let other = sessions(try TLSClientContext(minted.client()))
        let own = sessions()
        #expect(try !connect(own, other.keep))
        #expect(try !connect(other))
        var configuration = try minted.client()
        configuration.resumesSessions = false
        let none = sessions(try TLSClientContext(configuration))
        #expect(try !connect(none, none.keep))
        #expect(try !connect(none))
    }

    @Test("are bounded in number")
    func bound() throws {
        let own = sessions()
        for _ in 0..<12 { #expect(try !connect(sessions(), own.keep)) }
        let count = try (0..<12).count { _ in try connect(own) }
        #expect(count == 8)
    }
}
