import Bytes
import ProxyProtocol
import Testing

/// Every outcome for the beginnings of `bytes`, shortest first.
private func outcomes(_ bytes: [UInt8]) -> [ProxyHeader.Outcome] {
    (0...bytes.count).map { ProxyHeader.parse(Array(bytes[..<$0]).span) }
}

@Suite("PROXY protocol, version 1")
struct ProxyHeaderV1Tests {}

extension ProxyHeaderV1Tests {
    static let sources: [(words: String, source: ProxyHeader.Source)] = [
        ("TCP4 192.0.2.1 198.51.100.2 56324 443", .address([192, 0, 2, 1], port: 56324)),
        (
            "TCP4 255.255.255.255 255.255.255.255 65535 65535",
            .address([255, 255, 255, 255], port: 65535)
        ),
        ("TCP4 0.0.0.0 0.0.0.0 0 0", .address([0, 0, 0, 0], port: 0)),
        (
            "TCP6 2001:db8::1 ::1 1 2",
            .address([0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1], port: 1)
        ),
        (
            "TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                + "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535",
            .address([UInt8](repeating: 0xFF, count: 16), port: 65535)
        ),
        ("TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 5 6", .address([192, 0, 2, 1], port: 5)),
        ("UNKNOWN", .unstated),
        ("UNKNOWN anything at all  here", .unstated),
        (
            "UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                + "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535", .unstated
        ),
    ]

    @Test("gives the source of a whole line and leaves what follows", arguments: sources)
    func source(words: String, source: ProxyHeader.Source) {
        let line = Array("PROXY \(words)\r\n".utf8)
        let whole = ProxyHeader.Outcome.complete(
            ProxyHeader(source: source), byteCount: line.count)
        #expect(ProxyHeader.parse((line + Array("\r\nGET / HTTP/1.1".utf8)).span) == whole)
        let steps = outcomes(line)
        #expect(steps.last == whole)
        for (count, step) in steps.dropLast().enumerated() {
            #expect(step == .incomplete(ownByteCount: count))
        }
    }

    @Test(
        "refuses every other line",
        arguments: [
            ("GET / HTTP/1.1\r\n", .signature), ("proxy TCP4 1.1.1.1 2.2.2.2 1 2\r\n", .signature),
            ("PROXY\tTCP4 1.1.1.1 2.2.2.2 1 2\r\n", .signature), ("PROXY\r\n", .signature),
            ("PROXY \r\n", .protocolName), ("PROXY TCP 1.1.1.1 2.2.2.2 1 2\r\n", .protocolName),
            ("PROXY tcp4 1.1.1.1 2.2.2.2 1 2\r\n", .protocolName),
            ("PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n", .protocolName),
            ("PROXY UNKNOWNX\r\n", .protocolName),
            ("PROXY  TCP4 1.1.1.1 2.2.2.2 1 2\r\n", .protocolName),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n", .line),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 1 2 \r\n", .line),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n", .line),
            ("PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n", .line),
            ("PROXY TCP4\r\n", .line), ("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n", .line),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\r\n", .line),
            ("PROXY TCP4 1.1.1.1\r2.2.2.2 1 2\r\n", .line),
            ("PROXY TCP4 1.1.1.1\t2.2.2.2 1 2\r\n", .line),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\0\r\n", .line),
            ("PROXY UNKNOWN \u{e9}\r\n", .line),
            ("PROXY TCP4 ::1 2.2.2.2 1 2\r\n", .address),
            ("PROXY TCP4 1.1.1.1 ::1 1 2\r\n", .address),
            ("PROXY TCP6 1.1.1.1 2.2.2.2 1 2\r\n", .address),
            ("PROXY TCP4 01.1.1.1 2.2.2.2 1 2\r\n", .address),
            ("PROXY TCP4 1.1.1 2.2.2.2 1 2\r\n", .address),
            ("PROXY TCP4 1.1.1.256 2.2.2.2 1 2\r\n", .address),
            ("PROXY TCP6 ::1%eth0 ::1 1 2\r\n", .address),
            ("PROXY TCP6 [::1] ::1 1 2\r\n", .address),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 65536 2\r\n", .port),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n", .port),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n", .port),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n", .port),
            ("PROXY TCP4 1.1.1.1 2.2.2.2 -1 2\r\n", .port),
            ("PROXY TCP4 1.1.1.1 2.2.2.2  2\r\n", .port),
        ] as [(String, ProxyHeaderFault)])
    func refused(text: String, fault: ProxyHeaderFault) {
        #expect(ProxyHeader.parse(Array(text.utf8).span) == .refused(fault))
    }

    @Test("a line has 107 bytes at most, and a longer one is refused as soon as it is")
    func length() {
        let prefix = "PROXY UNKNOWN "
        let longest = Array((prefix + String(repeating: "x", count: 91) + "\r\n").utf8)
        #expect(longest.count == 107)
        let header = ProxyHeader(source: .unstated)
        #expect(ProxyHeader.parse(longest.span) == .complete(header, byteCount: 107))
        let longer = Array((prefix + String(repeating: "x", count: 92) + "\r\n").utf8)
        #expect(ProxyHeader.parse(longer.span) == .refused(.lineTooLong))
        #expect(ProxyHeader.parse(Array(longer[..<107]).span) == .refused(.lineTooLong))
        #expect(ProxyHeader.parse(Array(longer[..<106]).span) == .incomplete(ownByteCount: 106))
    }
}

@Suite("PROXY protocol, version 2")
struct ProxyHeaderV2Tests {}

extension ProxyHeaderV2Tests {
    static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
    static let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xDC, 0x04, 0x01, 0xBB]
    static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
        + [UInt8](repeating: 2, count: 16) + [0xDC, 0x04, 0x01, 0xBB]

    static func header(
        _ versionAndCommand: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? rest.count
        return signature + [versionAndCommand, family, UInt8(length >> 8), UInt8(length & 0xFF)]
            + rest
    }

    static let mapped: [UInt8] =
        [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 1]
        + [UInt8](repeating: 0, count: 20)

    static let sources: [(bytes: [UInt8], source: ProxyHeader.Source)] = [
        (header(0x21, 0x11, ipv4), .address([192, 0, 2, 1], port: 0xDC04)),
        (header(0x21, 0x12, ipv4), .address([192, 0, 2, 1], port: 0xDC04)),
        (header(0x21, 0x21, ipv6), .address(Array(ipv6[..<16]), port: 0xDC04)),
        (header(0x21, 0x21, mapped), .address([192, 0, 2, 1], port: 0)),
        (header(0x21, 0x31, [UInt8](repeating: 0x61, count: 216)), .unstated),
        (header(0x21, 0x00, []), .unstated),
        (header(0x21, 0x00, [1, 2, 3]), .unstated),
        (header(0x20, 0x00, []), .unstated),
        (header(0x20, 0x11, ipv4), .unstated),
        // The family of LOCAL is ignored, and so are its addresses.
        (header(0x20, 0x21, [1]), .unstated),
        (header(0x21, 0x11, ipv4 + [0x04, 0, 0]), .address([192, 0, 2, 1], port: 0xDC04)),
        (
            header(0x21, 0x11, ipv4 + [0x01, 0, 2, 0x68, 0x32, 0xEA, 0, 1, 9]),
            .address([192, 0, 2, 1], port: 0xDC04)
        ),
    ]

    @Test("gives the source of a whole header and leaves what follows", arguments: sources)
    func source(bytes: [UInt8], source: ProxyHeader.Source) {
        let whole = ProxyHeader.Outcome.complete(
            ProxyHeader(source: source), byteCount: bytes.count)
        #expect(ProxyHeader.parse((bytes + Array("GET /".utf8)).span) == whole)
        let steps = outcomes(bytes)
        #expect(steps.last == whole)
        for (count, step) in steps.dropLast().enumerated() {
            #expect(step == .incomplete(ownByteCount: count))
        }
    }

    static let refusals: [(bytes: [UInt8], fault: ProxyHeaderFault)] = [
        (Array("\r\n\r\nGET / HTTP/1.1".utf8), .signature),
        (Array("\r\n\r\n\0\r\nQUIX".utf8), .signature),
        (header(0x11, 0x11, ipv4), .version), (header(0x31, 0x11, ipv4), .version),
        (header(0x22, 0x11, ipv4), .command), (header(0x2F, 0x11, ipv4), .command),
        (header(0x21, 0x41, ipv4), .family), (header(0x21, 0x13, ipv4), .family),
        (header(0x21, 0x10, ipv4), .family), (header(0x21, 0x01, ipv4), .family),
        (header(0x21, 0x20, ipv6), .family),
        (header(0x21, 0x11, Array(ipv4[..<11])), .length),
        (header(0x21, 0x21, ipv4), .length),
        (header(0x21, 0x31, [UInt8](repeating: 0, count: 215)), .length),
        (header(0x21, 0x11, ipv4, length: 4081), .tooLong),
        (header(0x21, 0x11, ipv4, length: 65535), .tooLong),
        (header(0x21, 0x11, ipv4 + [1]), .extensionLength),
        (header(0x21, 0x11, ipv4 + [1, 0]), .extensionLength),
        (header(0x21, 0x11, ipv4 + [1, 0, 1]), .extensionLength),
        (header(0x21, 0x11, ipv4 + [1, 0xFF, 0xFF, 0]), .extensionLength),
        (header(0x21, 0x11, ipv4 + [3, 0, 3, 0, 0, 0]), .checksum),
        (header(0x21, 0x11, ipv4 + [3, 0, 4, 0, 0, 0, 0]), .checksum),
    ]

    @Test("refuses every other header", arguments: refusals)
    func refused(bytes: [UInt8], fault: ProxyHeaderFault) {
        #expect(ProxyHeader.parse(bytes.span) == .refused(fault))
    }

    @Test("the longest header has 4096 bytes")
    func longest() {
        let padding: [UInt8] = [4, 0x0F, 0xE1] + [UInt8](repeating: 0, count: 4065)
        let bytes = Self.header(0x21, 0x11, Self.ipv4 + padding)
        #expect(bytes.count == ProxyHeader.byteCountMax)
        let header = ProxyHeader(source: .address([192, 0, 2, 1], port: 0xDC04))
        #expect(ProxyHeader.parse(bytes.span) == .complete(header, byteCount: 4096))
    }

    /// CRC32C by the definition: the remainder of the bits, reflected, one at a time.
    private func crc32c(_ bytes: [UInt8]) -> UInt32 {
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            for bit in 0..<8 {
                let next = (remainder ^ UInt32(byte >> UInt8(bit))) & 1
                remainder >>= 1
                if next == 1 { remainder ^= 0x82F6_3B78 }
            }
        }
        return ~remainder
    }

    @Test("a checksum must be right, and the only one")
    func checksum() {
        #expect(crc32c(Array("123456789".utf8)) == 0xE306_9283)
        var bytes = Self.header(0x21, 0x11, Self.ipv4 + [4, 0, 1, 7, 3, 0, 4, 0, 0, 0, 0])
        let sum = crc32c(bytes)
        for index in 0..<4 {
            bytes[bytes.count - 4 + index] = UInt8(
                truncatingIfNeeded: sum >> UInt32(24 - 8 * index))
        }
        let source = ProxyHeader.Source.address([192, 0, 2, 1], port: 0xDC04)
        let whole = ProxyHeader.Outcome.complete(
            ProxyHeader(source: source), byteCount: bytes.count)
        #expect(ProxyHeader.parse(bytes.span) == whole)
        // Of another type it would be no checksum.
        for index in 16..<bytes.count where index != bytes.count - 7 {
            var changed = bytes
            changed[index] ^= 1
            #expect(ProxyHeader.parse(changed.span) != whole)
        }
        var twice = bytes + bytes[(bytes.count - 7)...]
        twice[15] += 7
        #expect(ProxyHeader.parse(twice.span) == .refused(.checksum))
    }

    @Test("bytes changed at random never trap, and what is not refused stays within its length")
    func mutations() {
        var random = SplitMix(state: 0x9A0B_2026)
        let seeds = Self.sources.map(\.bytes) + [Array("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n".utf8)]
        for _ in 0..<20_000 {
            guard var bytes = seeds.randomElement(using: &random) else { return }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(
                    in: .min ... .max, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...bytes.count / 4, using: &random))
            switch ProxyHeader.parse(bytes.span) {
            case .incomplete(let count): #expect(count == bytes.count)
            case .complete(_, let count): #expect(count <= bytes.count)
            case .refused: break
            }
        }
    }
}

/// Reproducible randomness.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
