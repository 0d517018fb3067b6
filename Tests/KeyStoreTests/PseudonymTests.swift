import Attestation
import Bytes
import Crypto
import KeyStore
import Testing

@Suite("Pseudonyms")
struct PseudonymTests {
    private let old = [UInt8](repeating: 1, count: 32)
    private let new = [UInt8](repeating: 2, count: 32)
}

extension PseudonymTests {
    private func keyID(_ number: Int) -> KeyID {
        KeyID(digest: SHA256.hash(Array("key \(number)".utf8)))
    }

    @Test("a key has one pseudonym, others have others, and other secrets give other ones")
    func different() throws {
        let pseudonyms = try #require(Pseudonyms(secrets: [old]))
        let names = (0..<1000).map { pseudonyms.pseudonym(of: keyID($0)) }
        #expect(Set(names).count == names.count)
        #expect(names == (0..<1000).map { pseudonyms.pseudonym(of: keyID($0)) })
        let others = try #require(Pseudonyms(secrets: [new]))
        #expect(Set(names).isDisjoint(with: (0..<1000).map { others.pseudonym(of: keyID($0)) }))
        // Neither the id nor a hash of it alone.
        let digest = keyID(0).digest
        #expect(![digest.word0, SHA256.hash(digest.array).word0].contains(names[0].value))
    }

    @Test("HMAC-SHA256 by another implementation gives the same")
    func independent() throws {
        // python3: derived = hmac(b"\\x01" * 32, b"sallyport key pseudonym"); hmac(derived, id)[:8]
        let pseudonyms = try #require(Pseudonyms(secrets: [old]))
        let keyID = KeyID(digest: .zero)
        #expect("\(pseudonyms.pseudonym(of: keyID))" == "3c5b83c6fbb2d9d1")
    }

    @Test("after a rotation the new secret makes names, and those of the old one are recognised")
    func rotation() throws {
        let before = try #require(Pseudonyms(secrets: [old]))
        let during = try #require(Pseudonyms(secrets: [new, old]))
        let after = try #require(Pseudonyms(secrets: [new]))
        let name = before.pseudonym(of: keyID(1))
        #expect(during.pseudonym(of: keyID(1)) == after.pseudonym(of: keyID(1)))
        #expect(during.isPseudonym(name, of: keyID(1)))
        #expect(!during.isPseudonym(name, of: keyID(2)))
        #expect(!after.isPseudonym(name, of: keyID(1)))
    }

    @Test("networks have numbers that only the secret makes")
    func networks() throws {
        let pseudonyms = try #require(Pseudonyms(secrets: [old, new]))
        let others = try #require(Pseudonyms(secrets: [new, old]))
        let networks = (0..<100 as Range<UInt64>).map { Bytes16(word0: $0, word1: 0) }
        #expect(Set(networks.map(pseudonyms.hash(ofNetwork:))).count == 100)
        #expect(
            networks.allSatisfy {
                pseudonyms.hash(ofNetwork: $0) != others.hash(ofNetwork: $0)
            })
    }

    @Test("secrets have 32 bytes")
    func secretSizes() {
        #expect(Pseudonyms(secrets: []) == nil)
        #expect(Pseudonyms(secrets: [old, [1, 2, 3]]) == nil)
    }

    @Test("the text is 16 hexadecimal digits, both ways")
    func text() {
        for value in [0, 1, 0xABC, UInt64.max] {
            #expect(Pseudonym("\(Pseudonym(value: value))")?.value == value)
            #expect("\(Pseudonym(value: value))".utf8.count == 16)
        }
        for wrong in ["", "0", "+000000000000001", "000000000000000g", "00000000000000001"] {
            #expect(Pseudonym(wrong) == nil, "\(wrong)")
        }
    }
}
