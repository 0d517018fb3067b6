import Bytes
import CLinux
import COpenSSL
import EventLoop
import GatewayTesting
import TLS
import Testing

@Suite("TLS sessions")
struct TLSSessionTests {
    private let minted: Minted

    init() throws { minted = try Minted.shared.get() }
}

extension TLSSessionTests {
    private func pair(
        _ configure: (inout TLSServerConfiguration, inout TLSClientConfiguration) throws -> Void
    ) throws -> TLSPair {
        var server = try minted.server([minted.ecdsa])
        var client = try minted.client()
        try configure(&server, &client)
        return try TLSPair(server: server, client: client)
    }

    private func text(_ string: String) -> [UInt8] { Array(string.utf8) }

    @Test("carry bytes both ways and tell what was agreed on")
    func bytes() throws {
        let pair = try pair { server, _ in server.protocols = ["h2", "http/1.1"] }
        #expect(try pair.handshake() == nil)
        #expect(pair.server.version == .tls13)
        #expect(pair.server.cipherName == "TLS_AES_128_GCM_SHA256")
        #expect(pair.server.serverName == "a.example")
        #expect(!pair.server.isResumed)
        #expect(pair.server.applicationProtocol == nil)
        let hello = text("hello")
        #expect(pair.client.write(hello.span) == .bytes(5))
        #expect(pair.read(pair.server) == (.bytes(5), hello))
        #expect(pair.read(pair.server).0 == .wantRead)
        #expect(pair.server.write(hello.span) == .bytes(5))
        #expect(pair.read(pair.client) == (.bytes(5), hello))
    }

    @Test("choose the first protocol of ours that the client has, or end")
    func protocols() throws {
        let chosen = try pair { server, client in
            server.protocols = ["h2", "http/1.1"]
            client.protocols = ["http/1.1", "h2"]
        }
        #expect(try chosen.handshake() == nil)
        #expect(chosen.server.applicationProtocol == "h2")
        #expect(chosen.client.applicationProtocol == "h2")
        let none = try pair { server, client in
            server.protocols = ["http/1.1"]
            client.protocols = ["h2"]
        }
        #expect(try none.handshake()?.kind == .applicationProtocol)
    }

    @Test("tell close_notify from a connection that just ends")
    func ends() throws {
        let clean = try pair { _, _ in }
        #expect(try clean.handshake() == nil)
        let bytes = text("last")
        #expect(clean.client.write(bytes.span) == .bytes(4))
        clean.client.sendClose()
        clean.closeClient()
        #expect(clean.read(clean.server) == (.bytes(4), bytes))
        #expect(clean.read(clean.server).0 == .endOfFile)
        #expect(clean.read(clean.server).0 == .endOfFile)
        let cut = try pair { _, _ in }
        #expect(try cut.handshake() == nil)
        #expect(cut.client.write(bytes.span) == .bytes(4))
        // Tickets that were never read would make the close a reset.
        #expect(cut.read(cut.client).0 == .wantRead)
        cut.closeClient()
        #expect(cut.read(cut.server) == (.bytes(4), bytes))
        guard case .failed(let failure) = cut.read(cut.server).0 else {
            Issue.record("no failure")
            return
        }
        #expect(failure.kind == .truncated)
    }

    @Test("say nothing to a peer that has just ended")
    func silence() throws {
        let pair = try pair { _, _ in }
        #expect(try pair.handshake() == nil)
        #expect(pair.read(pair.client).0 == .wantRead)
        Socket.shutdownWrite(pair.ends.client)
        for _ in 0..<2 {
            guard case .failed(let failure) = pair.read(pair.server).0 else {
                Issue.record("no failure")
                return
            }
            #expect(failure.kind == .truncated)
        }
        let late = text("late")
        guard case .failed = pair.server.write(late.span) else {
            Issue.record("written")
            return
        }
        var buffer = ByteBuffer()
        #expect(Socket.read(pair.ends.client, into: &buffer, atMost: 1) == .wouldBlock)
    }

    @Test("tell a handshake that just ends")
    func endInHandshake() throws {
        let pair = try pair { _, _ in }
        #expect(pair.client.handshake() == .wantRead)
        Socket.shutdownWrite(pair.ends.client)
        #expect(try pair.handshake()?.kind == .truncated)
    }

    @Test("wait on for what comes when the handshake is complete")
    func watches() throws {
        let pair = try pair { _, _ in }
        let watch = Watch(loop: try EventLoop(), descriptor: pair.ends.server)
        for _ in 0..<4 where pair.client.handshake() != .complete {
            _ = pair.server.handshake(on: watch)
        }
        #expect(pair.server.handshake(on: watch) == .complete)
        #expect(watch.isReading)
        #expect(!watch.isWriting)
        watch.cancel()
    }

    @Test("say when more is in memory than was asked for")
    func buffered() throws {
        let pair = try pair { _, _ in }
        #expect(try pair.handshake() == nil)
        for _ in 0..<8 { _ = pair.client.write([UInt8](repeating: 7, count: 1000).span) }
        #expect(pair.read(pair.server, atMost: 1500).0 == .bytes(1500))
        #expect(pair.server.hasBuffered)
        #expect(pair.read(pair.server, atMost: 100_000).0 == .bytes(6500))
        #expect(!pair.server.hasBuffered)
    }

    @Test("take as much as the kernel does, and the rest when there is room")
    func backPressure() throws {
        let pair = try pair { _, _ in }
        #expect(try pair.handshake() == nil)
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var (sent, received): (Int, [UInt8]) = (0, [])
        var stalls = 0
        while received.count < bytes.count * 10 {
            while sent < bytes.count * 10 {
                let start = sent % bytes.count
                guard case .bytes(let count) = pair.server.write(bytes.span.extracting(start...))
                else { break }
                sent += count
            }
            stalls += 1
            received += pair.read(pair.client).1
        }
        #expect(stalls > 1)
        #expect(received == (0..<10).flatMap { _ in bytes })
    }

    @Test("send the records of one call together")
    func recordsTogether() throws {
        let pair = try TLSPair(
            server: TLSServerContext(
                minted.server([minted.ecdsa]), ticketKeys: TLSTicketKeys(lifetime: .seconds(60))),
            ends: Self.loopback()
        ) { descriptor in
            try TLSSession(
                client: TLSClientContext(minted.client()), serverName: "a.example",
                isAddress: false, descriptor: descriptor)
        }
        #expect(try pair.handshake() == nil)
        let recordCount = 3
        let bytes = [UInt8](repeating: 7, count: recordCount * TLSSession.recordByteCount)
        let roundCount = 20
        let before = Self.sentSegmentCount(pair.ends.server)
        for _ in 0..<roundCount {
            #expect(pair.server.write(bytes.span) == .bytes(bytes.count))
            var received = 0
            // The last record waits for nothing.
            while received < bytes.count {
                let outcome = pair.read(pair.client).0
                guard case .bytes(let count) = outcome else {
                    Issue.record("\(received) bytes, then \(outcome)")
                    return
                }
                received += count
            }
        }
        // The kernel sends what fills half of the window, here two records, and does not wait for
        // the third.
        let segmentCount = Self.sentSegmentCount(pair.ends.server) - before
        #expect(segmentCount * 2 < roundCount * (recordCount * 2 - 1))
    }

    @Test("count what the socket takes: the bytes of the records, not those in them")
    func sealedBytes() throws {
        let pair = try pair { _, _ in }
        #expect(try pair.handshake() == nil)
        let (before, unread) = (
            pair.client.sealedByteCount, Socket.unreadByteCount(pair.ends.server)
        )
        for _ in 0..<3 { #expect(pair.client.write(text("hello").span) == .bytes(5)) }
        let sealed = Int(pair.client.sealedByteCount - before)
        #expect(sealed == Socket.unreadByteCount(pair.ends.server) - unread)
        #expect(sealed > 3 * 5 + 3 * 16)
    }

    /// Both ends of a TCP connection.
    private static func loopback() throws -> (client: Int32, server: Int32) {
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: any)
        defer { Socket.close(listener) }
        let address = try #require(Socket.localAddress(listener))
        let client: Int32
        switch Socket.connect(to: address) {
        case .connected(let descriptor), .inProgress(let descriptor): client = descriptor
        case .failed(let code): throw IOError("connect", errno: code)
        }
        while true {
            if case .accepted(let server, _) = Socket.accept(listener) { return (client, server) }
        }
    }

    /// `tcpi_data_segs_out` of `struct tcp_info` (tcp(7)), which glibc's header does not have.
    private static func sentSegmentCount(_ descriptor: Int32) -> Int {
        var words = [UInt32](repeating: 0, count: 64)
        var byteCount = socklen_t(words.count * 4)
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &words, &byteCount)
        return Int(words[39])
    }

    @Test("refuse what is no TLS, and say so where it is HTTP")
    func garbage() throws {
        let http = try pair { _, _ in }
        let request = text("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(Socket.write(http.ends.client, request.span) == .bytes(request.count))
        guard case .failed(let failure) = http.server.handshake() else {
            Issue.record("no failure")
            return
        }
        #expect(failure.kind == .notTLS)
        #expect(failure.isHTTP)
        let noise = try pair { _, _ in }
        let bytes = [UInt8](repeating: 0x42, count: 600)
        #expect(Socket.write(noise.ends.client, bytes.span) == .bytes(600))
        guard case .failed(let failure) = noise.server.handshake() else {
            Issue.record("no failure")
            return
        }
        #expect(failure.kind == .notTLS)
        #expect(!failure.isHTTP)
    }

    @Test("check the server's certificate, its name and its address")
    func verification() throws {
        let server = try minted.server([minted.ecdsa])
        let names = [
            ("a.example", true), ("b.example", false), ("127.0.0.1", true), ("127.0.0.2", false),
        ]
        for (name, isGood) in names {
            let pair = try TLSPair(server: server, client: minted.client(), name: name)
            #expect(try pair.handshake()?.kind == (isGood ? nil : .certificate), "\(name)")
        }
        var other = try minted.client()
        other.authorities = try TLSAuthorities(pem: minted.rsa.certificatePEM)
        #expect(try TLSPair(server: server, client: other).handshake()?.kind == .certificate)
        other.authorities = nil
        let trusting = try TLSPair(server: server, client: other, name: "z.example")
        #expect(try trusting.handshake() == nil)
    }

    @Test("take no common name for the server's", arguments: [[], ["127.0.0.1"]])
    func commonName(names: [String]) throws {
        let name = "common\(names.count).example"
        let certificate = try TestCertificate(
            in: minted.directory, name, names: names, issuer: minted.authority)
        let pair = try TLSPair(
            server: minted.server([certificate]), client: minted.client(), name: name)
        #expect(try pair.handshake()?.kind == .certificate)
    }

    @Test("ask clients for certificates", arguments: [false, true])
    func clientCertificates(isRequired: Bool) throws {
        func outcome(_ identity: TestCertificate?) throws -> (TLSFailure.Kind?, Bool) {
            let pair = try pair { server, client in
                server.minimumVersion = .tls13
                server.clientCertificates = .init(
                    isRequired: isRequired,
                    authorities: try TLSAuthorities(pem: minted.authority.certificatePEM))
                client.identity = try identity.map { try minted.identity($0) }
            }
            let failure = try pair.handshake()
            return (failure?.kind, failure == nil && pair.server.hasPeerCertificate)
        }
        #expect(try outcome(minted.rsa) == (nil, true))
        #expect(try outcome(nil) == (isRequired ? .certificate : nil, false))
        let stranger = try TestCertificate(in: minted.directory, "stranger-\(isRequired)")
        #expect(try outcome(stranger) == (.certificate, false))
    }

    /// Has the client send so many key updates, and after each `byteCount` bytes, and returns what
    /// the server reads at last. It reads after each of them, or all `atOnce`.
    private func outcome(
        ofUpdates count: Int, byteCount: Int = 0, atOnce: Bool = false
    ) throws -> TLSReadOutcome {
        let pair = try pair { _, _ in }
        #expect(try pair.handshake() == nil)
        let bytes = [UInt8](repeating: 0, count: 16 * 1024)
        var last = TLSReadOutcome.wantRead
        for _ in 0..<count {
            #expect(SSL_key_update(pair.client.session, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
            #expect(pair.client.handshake() == .complete)
            for _ in 0..<byteCount / bytes.count {
                #expect(pair.client.write(bytes.span) == .bytes(bytes.count))
                last = pair.read(pair.server).0
            }
            if byteCount == 0, !atOnce { last = pair.read(pair.server).0 }
        }
        if atOnce { last = pair.read(pair.server).0 }
        #expect(pair.server.isFlooded == (last == .failed(TLSSession.flooded)))
        // It stays so, and nothing more is said on the connection.
        if pair.server.isFlooded {
            #expect(pair.read(pair.server).0 == last)
            #expect(pair.server.write(bytes.span) == .failed(.closedEarly))
        }
        return last
    }

    @Test("end where the peer only updates its keys, and not where it sends as well")
    func keyUpdates() throws {
        #expect(try outcome(ofUpdates: 32) == .wantRead)
        #expect(try outcome(ofUpdates: 33) == .failed(TLSSession.flooded))
        // The one read ends at the first too many.
        #expect(try outcome(ofUpdates: 200, atOnce: true) == .failed(TLSSession.flooded))
        #expect(try outcome(ofUpdates: 64, byteCount: 1 << 20) == .bytes(16 * 1024))
    }
}
