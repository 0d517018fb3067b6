import Bytes
import CBOR
import Testing

private let limits = CBORLimits(byteCountMax: 256, depthMax: 4)

private func parse(_ hex: String) throws(CBORError) -> CBORValue {
    let bytes = Hex.decode(hex) ?? []
    return try CBORValue.parse(bytes.span, limits: limits)
}

private func reason(_ hex: String) -> CBORError.Reason? {
    do {
        _ = try parse(hex)
        return nil
    } catch {
        return error.reason
    }
}

@Suite("CBOR: reading")
struct CBORReaderTests {}

extension CBORReaderTests {
    /// Examples of RFC 8949 appendix A that lie in the subset.
    static let examples: [(hex: String, value: CBORValue)] = [
        ("00", .unsigned(0)), ("01", .unsigned(1)), ("17", .unsigned(23)),
        ("1818", .unsigned(24)), ("1864", .unsigned(100)), ("1903e8", .unsigned(1000)),
        ("1a000f4240", .unsigned(1_000_000)), ("1bffffffffffffffff", .unsigned(.max)),
        ("20", .negative(argument: 0)), ("3903e7", .negative(argument: 999)),
        ("3bffffffffffffffff", .negative(argument: .max)),
        ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])),
        ("60", .text("")), ("62c3bc", .text("ü")), ("64f0908591", .text("𐅑")),
        ("80", .array([])), ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])),
        ("a0", .map([])), ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null),
        (
            "a26161016162820203",
            .map([
                .init(.text("a"), .unsigned(1)),
                .init(.text("b"), .array([.unsigned(2), .unsigned(3)])),
            ])
        ),
    ]

    @Test("reads the specification's examples and writes them back", arguments: examples)
    func roundTrip(hex: String, value: CBORValue) throws {
        #expect(try parse(hex) == value)
        #expect(Hex.encode(value.encoded) == hex)
    }

    @Test(
        "refuses what is not the deterministic subset, and says why",
        arguments: [
            ("", CBORError.Reason.truncated), ("18", .truncated), ("1901", .truncated),
            ("44010203", .truncated), ("5bffffffffffffffff", .truncated),
            ("9bffffffffffffffff", .truncated), ("83", .truncated), ("a101", .truncated),
            ("0000", .trailingBytes), ("a000", .trailingBytes),
            ("5f4101ff", .indefiniteLength), ("7f6161ff", .indefiniteLength),
            ("9f01ff", .indefiniteLength),
            ("bf616101ff", .indefiniteLength),
            ("1800", .notShortest), ("1817", .notShortest), ("1900ff", .notShortest),
            ("1a0000ffff", .notShortest), ("1b00000000ffffffff", .notShortest),
            ("580100", .notShortest), ("780161", .notShortest),
            ("c000", .tag), ("c11a514b67b0", .tag), ("d9d9f700", .tag),
            ("f90000", .float), ("fa47c35000", .float), ("fb3ff199999999999a", .float),
            ("f7", .simpleValue), ("f0", .simpleValue), ("f820", .simpleValue),
            ("1c", .reserved), ("fc", .reserved), ("ff", .reserved), ("3e", .reserved),
            ("a201010102", .duplicateKey), ("a2616101616102", .duplicateKey),
            ("81a2616101616102", .duplicateKey),
            ("a1f500", .keyType), ("a18000", .keyType),
            ("a1a000", .keyType), ("61ff", .invalidUTF8), ("62c0af", .invalidUTF8),
            ("63eda080", .invalidUTF8), ("a161ff01", .invalidUTF8),
            ("818181818101", .tooDeep), ("a101a101a101a101a10101", .tooDeep),
        ])
    func refusals(hex: String, expected: CBORError.Reason) {
        #expect(reason(hex) == expected)
    }

    @Test("takes what is exactly at the bounds and refuses one more")
    func bounds() {
        #expect(reason("8181818101") == nil)
        let longest = CBORValue.bytes([UInt8](repeating: 7, count: 254)).encoded
        #expect(longest.count == 256)
        #expect(reason(Hex.encode(longest)) == nil)
        let tooLong = CBORValue.bytes([UInt8](repeating: 7, count: 255)).encoded
        #expect(reason(Hex.encode(tooLong)) == .tooLong)
        let entries = (0..<33).map { CBORValue.Entry(.unsigned($0), .null) }
        #expect(reason(Hex.encode(CBORValue.map(Array(entries.dropLast())).encoded)) == nil)
        #expect(reason(Hex.encode(CBORValue.map(entries).encoded)) == .tooManyEntries)
    }

    @Test("names the offset of the fault")
    func offset() {
        #expect(throws: CBORError(.notShortest, at: 2)) { try parse("82011800") }
        #expect(throws: CBORError(.duplicateKey, at: 4)) { try parse("a2616101616102") }
    }

    @Test("reads a map in place, steps over what it does not know")
    func inPlace() throws {
        let value = CBORValue.map([
            .init(.text("skip"), .array([.map([.init(.unsigned(1), .text("x"))]), .bool(true)])),
            .init(.unsigned(9), .null), .init(.text("take"), .bytes([1, 2])),
        ])
        let bytes = value.encoded
        var reader = try CBORReader(bytes.span, limits: limits)
        var taken: [UInt8] = []
        for _ in 0..<(try reader.readMapCount()) {
            guard let key = try reader.readTextKey() else {
                try reader.readItem()
                continue
            }
            if key.isText("take") {
                taken = try reader.readBytes().array
            } else {
                try reader.readItem()
            }
        }
        #expect(taken == [1, 2])
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
        #expect(throws: CBORError.self) { try readPastEnd(bytes) }
    }

    private func readPastEnd(_ bytes: [UInt8]) throws(CBORError) {
        var reader = try CBORReader(bytes.span, limits: limits)
        try reader.readItem()
        try reader.readItem()
    }

    @Test("refuses an item of another type than asked for, without moving")
    func types() throws {
        let bytes: [UInt8] = [0x3B, 0x80, 0, 0, 0, 0, 0, 0, 0]
        var reader = try CBORReader(bytes.span, limits: limits)
        var failures: [CBORError.Reason] = []
        do { _ = try reader.readUnsigned() } catch { failures.append(error.reason) }
        do { _ = try reader.readInteger() } catch { failures.append(error.reason) }
        do { _ = try reader.readMapCount() } catch { failures.append(error.reason) }
        #expect(failures == [.unexpectedType, .integerRange, .unexpectedType])
        let argument = try reader.readNegativeArgument()
        #expect(argument == 1 << 63)
    }

    @Test("never traps, and reads only what it would write: random bytes")
    func random() {
        var generator = SplitMix64(state: 0x5EED)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if let value = try? CBORValue.parse(bytes.span, limits: limits) {
                #expect(value.encoded == bytes)
            }
        }
    }

    @Test("shows diagnostic notation")
    func diagnostic() throws {
        #expect(
            try parse("a26161016162820203").description == #"{"a": 1, "b": [2, 3]}"#)
        #expect(try parse("3bffffffffffffffff").description == "-18446744073709551616")
        #expect(try parse("8340f6f4").description == "[h'', null, false]")
    }
}

/// A seeded generator: every run sees the same bytes.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
