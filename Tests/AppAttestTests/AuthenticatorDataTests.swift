import AppAttest
import AppAttestTesting
import Bytes
import CBOR
import Crypto
import Testing

private let header = [UInt8](repeating: 0xAB, count: 32) + [0x40, 0xFF, 0x00, 0x00, 0x01]

private func credential(keyEntries: [CBORValue.Entry]? = nil, id: [UInt8] = [1, 2]) -> [UInt8] {
    let entries =
        keyEntries ?? [
            .init(.integer(1), .integer(2)), .init(.integer(3), .integer(-7)),
            .init(.integer(-1), .integer(1)),
            .init(.integer(-2), .bytes([UInt8](repeating: 0, count: 32))),
            .init(.integer(-3), .bytes([UInt8](repeating: 9, count: 32))),
        ]
    return AAGUID.production.array + [0, UInt8(id.count)] + id + CBORValue.map(entries).encoded
}

private func extensions(_ entries: [CBORValue.Entry]) throws(Malformation) -> ExtensionData? {
    let bytes = header + CBORValue.map(entries).encoded
    return try AuthenticatorData(assertion: bytes.span).extensions
}

@Suite("Authenticator data")
struct AuthenticatorDataTests {}

extension AuthenticatorDataTests {
    @Test("of an assertion is 37 bytes and the counter is unsigned")
    func assertion() throws {
        let data = try AuthenticatorData(assertion: header.span)
        #expect(data.rpIDHash == Bytes32([UInt8](repeating: 0xAB, count: 32)))
        #expect(data.flags == 0x40)
        #expect(data.counter == 0xFF00_0001)
        #expect(data.credential == nil && data.extensions == nil)
    }

    @Test("is read by its structure, whatever the flags say", arguments: UInt8.min...UInt8.max)
    func flags(flags: UInt8) throws {
        var plain = header
        plain[32] = flags
        #expect(try AuthenticatorData(assertion: plain.span).extensions == nil)
        let map = CBORValue.map([.init(.text("apple_bundle_version_01"), .text("3"))]).encoded
        let extended = plain + map
        #expect(
            try AuthenticatorData(assertion: extended.span).extensions?.bundleVersion == "3")
        let attestation = plain + credential() + map
        let data = try AuthenticatorData(attestation: attestation.span)
        #expect(data.extensions?.bundleVersion == "3")
        #expect(data.credential?.id == [1, 2])
        // A coordinate's leading zeros are part of it.
        #expect(data.credential?.publicKey.x == .zero)
    }

    @Test("keeps extension members that it does not know")
    func unknownExtensions() throws {
        let data = try #require(
            try extensions([
                .init(.text("apple_new_01"), .array([.unsigned(1)])), .init(.unsigned(5), .null),
                .init(.text("apple_bundle_version_01"), .text("a bundle version of some length")),
            ]))
        #expect(data.bundleVersion == "a bundle version of some length")
        #expect(data.validationCategory == nil)
        #expect(data.others.map(\.name) == ["apple_new_01", "5"])
        #expect(data.others.map(\.encoded) == [[0x81, 0x01], [0xF6]])
    }

    @Test("takes the category as four little-endian bytes or as an integer")
    func category() throws {
        func category(_ value: CBORValue) throws(Malformation) -> UInt32? {
            try extensions([.init(.text("apple_validation_category_01"), value)])?
                .validationCategory
        }
        #expect(try category(.bytes([4, 0, 0, 0])) == 4)
        #expect(try category(.bytes([1, 2, 3, 0x84])) == 0x8403_0201)
        #expect(try category(.unsigned(10)) == 10)
        #expect(try category(.unsigned(UInt64(UInt32.max))) == .max)
        for wrong in [
            CBORValue.bytes([4]), .bytes([4, 0, 0, 0, 0]), .unsigned(1 << 32), .text("4"),
            .integer(-1), .null,
        ] {
            #expect(throws: Malformation.extensions) { try category(wrong) }
        }
    }

    @Test("refuses what is not exactly one map after the fixed part")
    func trailing() {
        let map = CBORValue.map([]).encoded
        for tail in [[0x00], [0xFF], map + map, map + [0x00], [0xF6], [0x80], [0xBF, 0xFF]] {
            let assertion = header + tail
            #expect(throws: Malformation.self) {
                try AuthenticatorData(assertion: assertion.span)
            }
            let attestation = header + credential() + tail
            #expect(throws: Malformation.self) {
                try AuthenticatorData(attestation: attestation.span)
            }
        }
    }

    @Test("has at most 1024 bytes, and maps at most four deep")
    func bounds() throws {
        func padded(to byteCount: Int) -> [UInt8] {
            let overhead = header.count + 1 + 2 + 3
            let filler = CBORValue.bytes([UInt8](repeating: 0, count: byteCount - overhead))
            return header + CBORValue.map([.init(.text("f"), filler)]).encoded
        }
        let longest = padded(to: 1024)
        #expect(longest.count == 1024)
        #expect(try AuthenticatorData(assertion: longest.span).extensions?.others.count == 1)
        let longer = padded(to: 1025)
        #expect(throws: Malformation.authenticatorDataTooLong(byteCount: 1025)) {
            try AuthenticatorData(assertion: longer.span)
        }
        func nested(_ depth: Int) -> CBORValue {
            (0..<depth).reduce(.null) { value, _ in .array([value]) }
        }
        #expect(try extensions([.init(.text("n"), nested(3))]) != nil)
        #expect(throws: Malformation.self) { try extensions([.init(.text("n"), nested(4))]) }
    }

    @Test("names the part in which an attestation's ends")
    func truncated() {
        let whole = header + credential()
        for byteCount in 0..<whole.count {
            let expected: AuthenticatorData.Part =
                switch byteCount {
                case 0..<37: .header
                case 37..<53: .aaguid
                case 53..<57: .credentialID
                default: .publicKey
                }
            let bytes = Array(whole.prefix(byteCount))
            #expect(throws: Malformation.truncated(expected)) {
                try AuthenticatorData(attestation: bytes.span)
            }
        }
    }

    @Test("takes only P-256 keys of whole coordinates")
    func keys() {
        let coordinate = CBORValue.bytes([UInt8](repeating: 1, count: 32))
        let right: [CBORValue.Entry] = [
            .init(.integer(1), .integer(2)), .init(.integer(3), .integer(-7)),
            .init(.integer(-1), .integer(1)), .init(.integer(-2), coordinate),
            .init(.integer(-3), coordinate),
        ]
        var wrong: [[CBORValue.Entry]] = [[]]
        for index in right.indices {
            var entries = right
            entries.remove(at: index)
            wrong.append(entries)
            for value in [CBORValue.integer(9), .text("x"), .bytes([1]), .null] {
                entries = right
                entries[index].value = value
                wrong.append(entries)
            }
        }
        for entries in wrong {
            let bytes = header + credential(keyEntries: entries)
            #expect(throws: Malformation.coseKey) {
                try AuthenticatorData(attestation: bytes.span)
            }
        }
        let more = header + credential(keyEntries: right + [.init(.text("kid"), .null)])
        #expect((try? AuthenticatorData(attestation: more.span)) != nil)
    }

    @Test("damaged at random traps nothing")
    func damaged() {
        var generator = SplitMix64(state: 0xDA7A)
        let map = CBORValue.map([
            .init(.text("apple_bundle_version_01"), .text("1")),
            .init(.text("apple_validation_category_01"), .bytes([4, 0, 0, 0])),
        ]).encoded
        for _ in 0..<20_000 {
            let attestation = generator.damage(header + credential() + map)
            _ = try? AuthenticatorData(attestation: attestation.span)
            let assertion = generator.damage(header + map)
            _ = try? AuthenticatorData(assertion: assertion.span)
            _ = try? UnverifiedAssertion(parsing: assertion.span).signature.count
        }
    }
}
