import Bytes
import CBOR
import Testing

/// The tables of RFC 8949. What the reader refuses of the well-formed ones it refuses for a reason
/// that its subset has: Apple's objects need no tags, floats or indefinite lengths, and one value
/// has one spelling.
@Suite("CBOR: the tables of RFC 8949")
struct RFC8949Tests {}

extension RFC8949Tests {
    private static let limits = CBORLimits(byteCountMax: 256, depthMax: 16)

    /// Nil for what is read.
    private static func refusal(_ hex: String) throws -> CBORError.Reason? {
        let bytes = try #require(Hex.decode(hex.filter { $0 != " " }))
        do throws(CBORError) {
            let value = try CBORValue.parse(bytes.span, limits: limits)
            #expect(value.encoded == bytes, "\(hex) is written otherwise")
            return nil
        } catch {
            return error.reason
        }
    }

    /// Appendix A, in its order.
    static let examples: [(hex: String, refusal: CBORError.Reason?)] = [
        ("00", nil), ("01", nil), ("0a", nil), ("17", nil), ("1818", nil), ("1819", nil),
        ("1864", nil), ("1903e8", nil), ("1a000f4240", nil), ("1b000000e8d4a51000", nil),
        ("1bffffffffffffffff", nil), ("c249010000000000000000", .tag),
        ("3bffffffffffffffff", nil), ("c349010000000000000000", .tag), ("20", nil), ("29", nil),
        ("3863", nil), ("3903e7", nil), ("f90000", .float), ("f98000", .float), ("f93c00", .float),
        ("fb3ff199999999999a", .float), ("f93e00", .float), ("f97bff", .float),
        ("fa47c35000", .float), ("fa7f7fffff", .float), ("fb7e37e43c8800759c", .float),
        ("f90001", .float), ("f90400", .float), ("f9c400", .float),
        ("fbc010666666666666", .float), ("f97c00", .float), ("f97e00", .float),
        ("f9fc00", .float), ("fa7f800000", .float), ("fa7fc00000", .float),
        ("faff800000", .float), ("fb7ff0000000000000", .float), ("fb7ff8000000000000", .float),
        ("fbfff0000000000000", .float), ("f4", nil), ("f5", nil), ("f6", nil),
        ("f7", .simpleValue), ("f0", .simpleValue), ("f8ff", .simpleValue),
        ("c074323031332d30332d32315432303a30343a30305a", .tag), ("c11a514b67b0", .tag),
        ("c1fb41d452d9ec200000", .tag), ("d74401020304", .tag), ("d818456449455446", .tag),
        ("d82076687474703a2f2f7777772e6578616d706c652e636f6d", .tag), ("40", nil),
        ("4401020304", nil), ("60", nil), ("6161", nil), ("6449455446", nil), ("62225c", nil),
        ("62c3bc", nil), ("63e6b0b4", nil), ("64f0908591", nil), ("80", nil), ("83010203", nil),
        ("8301820203820405", nil),
        ("98190102030405060708090a0b0c0d0e0f101112131415161718181819", nil), ("a0", nil),
        ("a201020304", nil), ("a26161016162820203", nil), ("826161a161626163", nil),
        ("a56161614161626142616361436164614461656145", nil),
        ("5f42010243030405ff", .indefiniteLength),
        ("7f657374726561646d696e67ff", .indefiniteLength), ("9fff", .indefiniteLength),
        ("9f018202039f0405ffff", .indefiniteLength), ("9f01820203820405ff", .indefiniteLength),
        ("83018202039f0405ff", .indefiniteLength), ("83019f0203ff820405", .indefiniteLength),
        (
            "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff",
            .indefiniteLength
        ),
        ("bf61610161629f0203ffff", .indefiniteLength),
        ("826161bf61626163ff", .indefiniteLength),
        ("bf6346756ef563416d7421ff", .indefiniteLength),
    ]

    @Test("appendix A: each example is read and written as it was, or lies outside the subset")
    func appendixA() throws {
        for example in Self.examples {
            #expect(try Self.refusal(example.hex) == example.refusal, "\(example.hex)")
        }
        #expect(Self.examples.count == 81)
    }

    /// Appendix F, by its headings.
    static let notWellFormed: [(heading: String, items: [String])] = [
        (
            "end of input in a head",
            [
                "18", "19", "1a", "1b", "19 01", "1a 01 02", "1b 01 02 03 04 05 06 07", "38",
                "58", "78", "98", "9a 01 ff 00", "b8", "d8", "f8", "f9 00", "fa 00 00",
                "fb 00 00 00",
            ]
        ),
        (
            "definite-length strings with short data",
            [
                "41", "61", "5a ff ff ff ff 00", "5b ff ff ff ff ff ff ff ff 01 02 03",
                "7a ff ff ff ff 00", "7b 7f ff ff ff ff ff ff ff 01 02 03",
            ]
        ),
        (
            "definite-length maps and arrays with too few items",
            ["81", "81 81 81 81 81 81 81 81 81", "82 00", "a1", "a2 01 02", "a1 00", "a2 00 00 00"]
        ),
        ("a tag without content", ["c0"]),
        ("indefinite-length strings without a break", ["5f 41 00", "7f 61 00"]),
        (
            "indefinite-length maps and arrays without a break",
            [
                "9f", "9f 01 02", "bf", "bf 01 02 01 02", "81 9f", "9f 80 00",
                "9f 9f 9f 9f 9f ff ff ff ff", "9f 81 9f 81 9f 9f ff ff ff",
            ]
        ),
        (
            "reserved additional information",
            [
                "1c", "1d", "1e", "3c", "3d", "3e", "5c", "5d", "5e", "7c", "7d", "7e", "9c",
                "9d", "9e", "bc", "bd", "be", "dc", "dd", "de", "fc", "fd", "fe",
            ]
        ),
        ("reserved two-byte simple values", ["f8 00", "f8 01", "f8 18", "f8 1f"]),
        (
            "chunks of the wrong type",
            [
                "5f 00 ff", "5f 21 ff", "5f 61 00 ff", "5f 80 ff", "5f a0 ff", "5f c0 00 ff",
                "5f e0 ff", "7f 41 00 ff",
            ]
        ),
        (
            "chunks of indefinite length",
            ["5f 5f 41 00 ff ff", "7f 7f 61 00 ff ff"]
        ),
        ("a break on its own", ["ff"]),
        (
            "a break in a definite-length array or map, or a tag",
            [
                "81 ff", "82 00 ff", "a1 ff", "a1 ff 00", "a1 00 ff", "a2 00 00 ff", "9f 81 ff",
                "9f 82 9f 81 9f 9f ff ff ff ff",
            ]
        ),
        (
            "a break where a value is due",
            ["bf 00 ff", "bf 00 00 00 ff"]
        ),
        ("integers and tags of indefinite length", ["1f", "3f", "df"]),
    ]

    @Test("appendix F: nothing that is not well-formed is read", arguments: notWellFormed)
    func appendixF(heading: String, items: [String]) throws {
        for item in items {
            #expect(try Self.refusal(item) != nil, "\(heading): \(item)")
        }
    }

    /// Section 3.1 on strings, and sections 4.2.1 and 5.6 on one spelling for one value.
    @Test(
        "one value has one spelling",
        arguments: [
            ("1800", CBORError.Reason.notShortest), ("190017", .notShortest),
            ("1a00000100", .notShortest), ("1b0000000000010000", .notShortest),
            ("3800", .notShortest), ("5800", .notShortest), ("580161", .notShortest),
            ("780161", .notShortest), ("9800", .notShortest), ("b800", .notShortest),
            ("a201000100", .duplicateKey), ("a2616100616100", .duplicateKey),
            ("a2410000410001", .duplicateKey), ("61ff", .invalidUTF8), ("62c328", .invalidUTF8),
            ("63eda080", .invalidUTF8), ("64f4908080", .invalidUTF8), ("62c080", .invalidUTF8),
            ("a1f500", .keyType), ("a18000", .keyType), ("a1a000", .keyType),
            ("f4f4", .trailingBytes),
        ])
    func oneSpelling(hex: String, reason: CBORError.Reason) throws {
        #expect(try Self.refusal(hex) == reason, "\(hex)")
    }
}
