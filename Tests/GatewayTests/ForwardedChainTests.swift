import Bytes
import EventLoop
import HTTP
import Settings
import Testing

@testable import Gateway

@Suite("Whom a request comes from")
struct ForwardedChainTests {}

extension ForwardedChainTests {
    /// The origin of a request with these lines, from a trusted proxy at 127.0.0.1.
    private func origin(_ lines: [String]) throws -> ClientOrigin {
        var listener = ListenerSettings(bind: .tcp(host: "127.0.0.1", port: 1))
        listener.trustedProxies = [
            .block(AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8))
        ]
        let fields = lines.map { $0 + "\r\n" }.joined()
        let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)
        var head = RequestHead()
        let limits = HeadLimits(
            headByteCountMax: 65_536, fieldCountMax: 100, targetByteCountMax: 8192)
        #expect(head.parse(bytes.span, limits: limits) == .complete)
        let peer = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 9))
        return ClientOrigin(
            head.fields, in: bytes.span, from: peer, over: ListenerContext(listener))
    }

    @Test(
        "is the last address of X-Forwarded-For that is not a trusted proxy's",
        arguments: [
            ("203.0.113.1", "203.0.113.1"),
            // What stands before it is what the client says.
            ("1.1.1.1, 203.0.113.1", "203.0.113.1"),
            // More proxies, with ports, in brackets.
            ("203.0.113.1, 127.0.0.9", "203.0.113.1"), ("203.0.113.1,127.0.0.9 ", "203.0.113.1"),
            ("203.0.113.1:80", "203.0.113.1"), ("[2001:db8::1]:80", "2001:db8::1"),
            ("2001:db8:0:1::1", "2001:db8:0:1::1"), ("::ffff:203.0.113.1", "203.0.113.1"),
            // Behind a word that is no address anything may stand.
            ("9.9.9.1, x", "127.0.0.1"), ("9.9.9.2, x, 127.0.0.7", "127.0.0.7"),
            ("9.9.9.3, unknown", "127.0.0.1"), ("9.9.9.3,", "127.0.0.1"), ("", "127.0.0.1"),
            ("203.0.113.1:x", "127.0.0.1"), ("[203.0.113.1]", "127.0.0.1"),
        ])
    func xForwardedFor(value: String, client: String) throws {
        let origin = try origin(["X-Forwarded-For: \(value)"])
        #expect(origin.address.ipText == client && origin.isCertain)
    }

    @Test(
        "is the same by Forwarded",
        arguments: [
            ("for=203.0.113.1", "203.0.113.1"), ("FOR=203.0.113.1;proto=https", "203.0.113.1"),
            (#"for="203.0.113.1:80""#, "203.0.113.1"),
            ("for=1.1.1.1, for=203.0.113.1", "203.0.113.1"),
            ("for=1.1.1.1,for=203.0.113.1", "203.0.113.1"),
            ("for=203.0.113.1, for=127.0.0.9", "203.0.113.1"),
            ("by=a ; for=203.0.113.1", "203.0.113.1"),
            (#"for="[2001:db8::1]:80""#, "2001:db8::1"),
            (#"for="[2001:db8::2]:_p""#, "2001:db8::2"),
            // No addresses, in ways that the grammar has and that it has not.
            ("for=9.9.9.1, for=unknown", "127.0.0.1"),
            ("for=9.9.9.2, for=_a, for=127.0.0.7", "127.0.0.7"), ("by=9.9.9.3", "127.0.0.1"),
            ("for=9.9.9.1;for=9.9.9.1", "127.0.0.1"), (#"for="9.9.9.2"#, "127.0.0.1"),
            ("for= 9.9.9.3", "127.0.0.1"), (#"for="2001:db8::1""#, "127.0.0.1"),
            (#"for="[9.9.9.3]""#, "127.0.0.1"),
        ])
    func forwarded(value: String, client: String) throws {
        let origin = try origin(["Forwarded: \(value)"])
        #expect(origin.address.ipText == client && origin.isCertain)
    }

    @Test("is nobody of the two where both forms name one each")
    func contradiction() throws {
        for (old, new, isCertain) in [
            ("1.1.1.1", "for=1.1.1.1", true), ("1.1.1.1", "for=9.9.9.1", false),
            ("9.9.9.1", "for=_a", false), ("x", "for=9.9.9.1", false),
        ] {
            let origin = try origin(["X-Forwarded-For: \(old)", "Forwarded: \(new)"])
            #expect(origin.isCertain == isCertain, "\(old) \(new)")
            #expect(origin.address.ipText == (isCertain ? old : "127.0.0.1"))
        }
    }

    @Test("is followed over several lines, from the last one, for so many proxies and no more")
    func lines() throws {
        let forms = [("X-Forwarded-For: ", ""), ("Forwarded: ", "for=")]
        for (name, mark) in forms {
            let several = try origin([
                "\(name)\(mark)1.1.1.1", "\(name)\(mark)203.0.113.1", "\(name)\(mark)127.0.0.2",
            ])
            #expect(several.address.ipText == "203.0.113.1")
            let ended = try origin(["\(name)\(mark)1.1.1.1", "\(name)\(mark)x"])
            #expect(ended.address.ipText == "127.0.0.1")
        }
        for (proxyCount, client) in [(31, "203.0.113.1"), (32, "127.0.0.2")] {
            let proxies = [String](repeating: "127.0.0.2", count: proxyCount)
            let chain = (["203.0.113.1"] + proxies).joined(separator: ", ")
            #expect(try origin(["X-Forwarded-For: \(chain)"]).address.ipText == client)
        }
    }

    @Test("is counted by its network: an address of IPv4, and 64 bits of IPv6")
    func networks() throws {
        func network(_ text: String) throws -> Bytes16? {
            try origin(["X-Forwarded-For: \(text)"]).address.ipv6Form?.limitedNetwork
        }
        let host = try network("2001:db8::1")
        #expect(try network("[2001:db8::2]:80") == host)
        #expect(try network("2001:db8:0:0:1::") == host)
        #expect(try network("2001:db8:0:1::1") != host)
        #expect(try network("203.0.113.1") == network("::ffff:203.0.113.1"))
        #expect(try network("203.0.113.1") != network("203.0.113.2"))
    }
}
