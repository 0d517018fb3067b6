import Bytes
import EventLoop
import HTTP
import Judgement
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Query values")
struct QueryValueTests {}

extension QueryValueTests {
    private func find(_ target: String) throws(QueryFault) -> String? {
        let bytes = try QueryValue.find("key_id", inQueryOf: Array(target.utf8).span)
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "the parameter of the name counts, decoded once",
        arguments: [
            ("/a?key_id=abc", "abc"), ("/a?x=1&key_id=a%2Bb%3d&y", "a+b="),
            ("/a?key_id=a+b", "a+b"),
            ("/a?key_id=", ""), ("/a?key_id", ""), ("/a?key_id&x=1", ""),
            ("/a?b?key_id=1&key_id=3", "3"), ("/a?%6bey%5Fid=x", "x"), ("/a?x=%&key_id=1", "1"),
            ("/a?key_id=%2541", "%41"), ("/a?&&key_id=x&", "x"), ("/a?key_id=a=b", "a=b"),
        ])
    func found(target: String, value: String) throws { #expect(try find(target) == value) }

    @Test(
        "what has another name is not found",
        arguments: [
            "/a", "/a?", "/a?key_i=1", "/a?Key_Id=1", "/a?xkey_id=1", "/key_id=1", "/a&key_id=1",
            "/a?x=key_id=1", "/a?key_id%3D=1", "",
        ])
    func missing(target: String) throws { #expect(try find(target) == nil) }

    @Test(
        "what is badly encoded, or there twice, is a fault",
        arguments: [
            ("/a?key_id=%", QueryFault.badlyEncoded), ("/a?key_id=%4", .badlyEncoded),
            ("/a?key_id=%4g", .badlyEncoded), ("/a?key_id=%%41", .badlyEncoded),
            ("/a?key%5id=1", .badlyEncoded), ("/a?key_id=1&key_id=1", .repeated),
            ("/a?key_id=1&x&key%5fid", .repeated), ("/a?key_id=1&%", .badlyEncoded),
        ])
    func faults(target: String, fault: QueryFault) {
        #expect(throws: fault) { try find(target) }
    }
}

@Suite("Media ranges")
struct MediaRangeTests {}

extension MediaRangeTests {
    private func isListed(_ value: String) -> Bool {
        MediaRanges.contains(Array("application/json".utf8), in: Array(value.utf8).span)
    }

    @Test(
        "a type listed by name is wanted",
        arguments: [
            "application/json", "Application/JSON", "text/html, application/json;q=0.5",
            "text/html,application/json", "  application/json  ; charset=utf-8",
            "a/b,\tapplication/json",
            "application/json;q=0.001", "application/json; q=1", "application/json;q=0.0000",
            "application/json;q=0x", "application/json;q=",
        ])
    func listed(value: String) { #expect(isListed(value)) }

    @Test(
        "one that is not, or is excluded, is not",
        arguments: [
            "", "*/*", "application/*", "text/html", "application/jsonp", "application/json;q=0",
            "application/json; Q=0.000", "application/problem+json", ",,;;,",
            "application/json ; q=0.0",
        ])
    func unlisted(value: String) { #expect(!isListed(value)) }
}

@Suite("Address blocks")
struct AddressBlockTests {}

extension AddressBlockTests {
    @Test("an address lies in a block where the prefix is the same, bit for bit")
    func prefixes() {
        for bitCount in 0...32 {
            let block = AddressBlock(address: [10, 20, 30, 40], prefixBitCount: bitCount)
            #expect(block.contains([10, 20, 30, 40]))
            for bit in 0..<32 {
                var other: [UInt8] = [10, 20, 30, 40]
                other[bit / 8] ^= 0x80 >> UInt8(bit % 8)
                #expect(block.contains(other) == (bit >= bitCount), "/\(bitCount), bit \(bit)")
            }
        }
    }

    @Test("families never mix, and a unix peer lies in no block")
    func families() {
        let everyone = AddressBlock(address: [0, 0, 0, 0], prefixBitCount: 0)
        let everyone6 = AddressBlock(
            address: [UInt8](repeating: 0, count: 16), prefixBitCount: 0)
        #expect(everyone.contains([1, 2, 3, 4]))
        #expect(!everyone.contains([UInt8](repeating: 0, count: 16)))
        #expect(everyone6.contains([UInt8](repeating: 9, count: 16)))
        #expect(!everyone6.contains([1, 2, 3, 4]))
        #expect(!everyone.contains([]))
        #expect(!AddressBlock(address: [], prefixBitCount: 0).contains([]))
    }

    @Test("a listener trusts the peers in its blocks")
    func listener() throws {
        var settings = ListenerSettings(bind: .tcp(host: "127.0.0.1", port: 1))
        let peer = try #require(SocketAddress.numeric(host: "10.1.2.3", port: 5))
        let unix = try #require(SocketAddress.unix("/tmp/x"))
        #expect(!ListenerContext(settings).trusts(peer))
        settings.trustedProxies = [
            .block(AddressBlock(address: [192, 168, 0, 0], prefixBitCount: 16)),
            .block(AddressBlock(address: [10, 0, 0, 0], prefixBitCount: 8)),
        ]
        #expect(ListenerContext(settings).trusts(peer))
        #expect(!ListenerContext(settings).trusts(unix))
        settings.trustedProxies = [.unix]
        #expect(!ListenerContext(settings).trusts(peer))
        #expect(ListenerContext(settings).trusts(unix))
        settings.trustedProxies = [
            .block(AddressBlock(address: [0, 0, 0, 0], prefixBitCount: 0)),
            .block(AddressBlock(address: [UInt8](repeating: 0, count: 16), prefixBitCount: 0)),
        ]
        #expect(!ListenerContext(settings).trusts(unix))
    }
}

@Suite("Rate limits of requests that fall short")
struct ShortfallRatesTests {}

extension ShortfallRatesTests {
    @Test("each way to fall short has the limit that is named for it, and no other")
    func limits() {
        var names = ShortfallLimits()
        let ways: [(WritableKeyPath<ShortfallLimits, String?>, Shortfall?)] = [
            (\.missing, .missing), (\.invalid, .invalid), (\.storeFailure, .unjudged),
            (\.lowerTier, .lowerTier), (\.risk, nil),
        ]
        let limits = RateLimitSettings.builtIn.map { RateLimit($0) }
        #expect(ShortfallRates(names, [:]) == nil)
        for (way, _) in ways {
            names[keyPath: way] = "one"
            let rates = ShortfallRates(names, ["one": limits[0], "two": limits[1]])
            names[keyPath: way] = nil
            for (other, shortfall) in ways {
                let limit = shortfall.map { rates?.limit(for: $0) } ?? rates?.risk
                #expect((limit != nil) == (other == way), "\(shortfall.debugDescription)")
            }
        }
    }
}
