import Bytes
import EventLoop
import GatewayTesting
import HTTP
import Settings
import Testing

@testable import Gateway

@Suite("PROXY protocol")
struct ProxyProtocolTests {}

extension ProxyProtocolTests {
    static let request = "GET /x HTTP/1.1\r\nHost: a\r\n"
    static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
    static let binary: [UInt8] =
        signature + [0x21, 0x11, 0, 15, 192, 0, 2, 7, 198, 51, 100, 2, 0xDC, 4, 1, 0xBB]
        + [4, 0, 0]

    /// The client as the upstream was told, for a connection that begins with `header`.
    private func forwardedFor(
        _ header: [UInt8], fields: String = "", by gateway: GatewayUnderTest
    ) throws -> String? {
        let client = try RawClient(port: gateway.proxiedPort)
        try client.send(header + Array((Self.request + fields + "\r\n").utf8))
        #expect(try client.receive().status == 200)
        return gateway.upstream.requests.last?["X-Forwarded-For"]
    }

    static let clients: [(header: [UInt8], client: String)] = [
        (Array("PROXY TCP4 192.0.2.7 198.51.100.2 56324 443\r\n".utf8), "192.0.2.7"),
        (Array("PROXY TCP6 2001:db8::7 ::1 56324 443\r\n".utf8), "2001:db8::7"),
        (binary, "192.0.2.7"),
        // The proxy's own connections, and those of which it knows nothing, are the proxy's.
        (Array("PROXY UNKNOWN\r\n".utf8), "127.0.0.1"),
        (signature + [0x20, 0, 0, 0], "127.0.0.1"),
    ]

    @Test("the address in the header is the client's")
    func client() throws {
        let gateway = try GatewayUnderTest()
        for (header, client) in Self.clients {
            #expect(try forwardedFor(header, by: gateway) == client)
        }
    }

    @Test("a client's word counts where the header names a trusted proxy, and only there")
    func trust() throws {
        let gateway = try GatewayUnderTest()
        let fields = "X-Forwarded-For: 203.0.113.9\r\n"
        let trusted = Array("PROXY TCP4 10.1.2.3 198.51.100.2 1 2\r\n".utf8)
        #expect(
            try forwardedFor(trusted, fields: fields, by: gateway) == "203.0.113.9, 10.1.2.3")
        let stranger = Array("PROXY TCP4 192.0.2.7 198.51.100.2 1 2\r\n".utf8)
        #expect(try forwardedFor(stranger, fields: fields, by: gateway) == "192.0.2.7")
    }

    @Test("the address in the header is the one in the log")
    func log() throws {
        let gateway = try GatewayUnderTest()
        let client = try RawClient(port: gateway.proxiedPort)
        try client.send(Self.binary + Array((Self.request + "\r\n").utf8))
        #expect(try client.receive().status == 200)
        #expect(try gateway.logLines().contains { $0.contains(#""client":"192.0.2.7""#) })
    }

    @Test("a header may come in pieces, and the request with its last one")
    func pieces() throws {
        for header in [Self.binary, Array("PROXY TCP4 192.0.2.7 198.51.100.2 1 2\r\n".utf8)] {
            let stepped = try SteppedGreeting()
            let bytes = header + Array((Self.request + "\r\n").utf8)
            for byte in bytes[..<(header.count - 1)] {
                stepped.send([byte])
                stepped.greeting.descriptorIsReadable()
                #expect(stepped.isGreeting)
            }
            stepped.send(Array(bytes[(header.count - 1)...]))
            stepped.greeting.descriptorIsReadable()
            let connection = try #require(stepped.worker.clients.first as? HTTP1Connection)
            #expect(connection.peer.ipText == "192.0.2.7")
            connection.descriptorIsReadable()
            #expect(connection.exchange?.intake.state.head.host != nil)
            connection.lose()
        }
    }

    @Test("whatever does not begin with a header is closed without a word")
    func refused() throws {
        // The beginning of a header, with nothing behind it, ends then.
        let gateway = try GatewayUnderTest { $0.timeouts.requestHead = .seconds(1) }
        for text in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n", "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n",
            "PROXY TCP4 1.1.1.1 2.2.2.2 1\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\u{16}\u{03}\u{01}\u{02}\u{00}",
        ] {
            let client = try RawClient(port: gateway.proxiedPort)
            try client.send(text)
            #expect(try client.receiveToEnd().isEmpty, "\(text)")
        }
        gateway.stop()
        #expect(gateway.upstream.requests.isEmpty)
        #expect(gateway.hub.meters[0].value(.proxyHeadersRefused) == 5)
    }

    @Test(
        "a header that does not come in time, or ends too early, ends its connection",
        arguments: ["", "PROXY TCP4 1.1", "\r\n\r\n\0\r\nQUIT\n!"])
    func late(text: String) throws {
        let gateway = try GatewayUnderTest { $0.timeouts.requestHead = .seconds(1) }
        let waiting = try RawClient(port: gateway.proxiedPort)
        try waiting.send(text)
        let ended = try RawClient(port: gateway.proxiedPort)
        try ended.send(text)
        ended.socket.shutdownSending()
        #expect(try ended.receiveToEnd().isEmpty)
        #expect(try waiting.receiveToEnd().isEmpty)
        gateway.stop()
        // Who opens a connection and says nothing looks whether the port is open.
        let count = gateway.hub.meters[0].value(.proxyHeadersRefused)
        #expect(count == (text.isEmpty ? 0 : 2))
    }

    @Test("only from the addresses that the listener names is a header read")
    func otherPeers() throws {
        let gateway = try GatewayUnderTest()
        for header in [Self.binary, Array("PROXY TCP4 192.0.2.7 198.51.100.2 1 2\r\n".utf8)] {
            let client = try gateway.client()
            try client.send(header + Array((Self.request + "\r\n").utf8))
            #expect(try client.receive().status == 400)
        }
        gateway.stop()
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("a second header is no header")
    func twice() throws {
        let gateway = try GatewayUnderTest()
        let client = try RawClient(port: gateway.proxiedPort)
        let line = "PROXY TCP4 192.0.2.7 198.51.100.2 1 2\r\n"
        try client.send(line + line + Self.request + "\r\n")
        #expect(try client.receive().status == 400)
    }

    @Test("a connection whose header has come when the worker stops is served, others are closed")
    func drained() throws {
        let complete = try SteppedGreeting()
        complete.send(Self.binary + Array("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let silent = try SteppedGreeting()
        for stepped in [complete, silent] {
            stepped.greeting.drain()
            #expect(!stepped.isGreeting)
        }
        #expect(complete.received().contains("HTTP/1.1 200 OK"))
        #expect(silent.worker.clients.isEmpty)
        for connection in complete.worker.clients { connection.lose() }
    }
}

/// A worker whose loop does not run, and a connection that must begin with a PROXY header.
private final class SteppedGreeting {
    private let stepped: SteppedWorker
    let greeting: ProxyGreeting
    private let client: Int32

    var worker: Worker { stepped.worker }

    init() throws {
        stepped = try SteppedWorker()
        stepped.connection.lose()
        var settings = ListenerSettings(bind: .unix(path: "/run/s.sock"))
        settings.proxyProtocol = [.unix]
        let (ours, clients) = try Socket.pair()
        client = clients
        let peer = try #require(SocketAddress.unix("/run/client"))
        stepped.worker.accepted(ours, peer, ListenerContext(settings))
        greeting = try #require(stepped.worker.clients.first as? ProxyGreeting)
    }

    var isGreeting: Bool { worker.clients.contains { $0 is ProxyGreeting } }

    deinit { Socket.close(client) }

    func received() -> String {
        var taken = ByteBuffer()
        while case .bytes = Socket.read(client, into: &taken, atMost: 1 << 16) {}
        return String(decoding: taken.readable.array, as: UTF8.self)
    }

    func send(_ bytes: [UInt8]) {
        #expect(Socket.write(client, bytes.span) == .bytes(bytes.count))
    }
}
