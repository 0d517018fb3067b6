import Bytes
import Crypto
import Testing

/// Vectors of FIPS 180-4's examples and RFC 4231 section 4.
@Suite("SHA-256")
struct SHA256Tests {}

extension SHA256Tests {
    static let vectors: [(message: [UInt8], digest: String)] = [
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ]

    /// Not among the arguments: test logs print those.
    @Test("hashes a million times the letter a")
    func million() {
        let digest = SHA256.hash([UInt8](repeating: 0x61, count: 1_000_000))
        #expect(
            Hex.encode(digest.array)
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("hashes the published examples", arguments: vectors)
    func published(vector: (message: [UInt8], digest: String)) {
        #expect(Hex.encode(SHA256.hash(vector.message).array) == vector.digest)
    }

    @Test(
        "hashes pieces as it hashes the whole, whatever their sizes", arguments: [1, 3, 63, 64, 65])
    func pieces(byteCount: Int) {
        let message = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        var stream = SHA256Stream()
        for start in stride(from: 0, to: message.count, by: byteCount) {
            let piece = Array(message[start..<min(start + byteCount, message.count)])
            stream.update(piece.span)
        }
        #expect(stream.finish() == SHA256.hash(message))
        #expect(stream.finish() == SHA256.hash([]))
    }

    @Test("hashes two parts as it hashes them joined")
    func twoParts() {
        let first = Array("authenticator data".utf8)
        let second = SHA256.hash(Array("client data".utf8))
        for first in [first, []] {
            let digest = SHA256.hash(first.span, second)
            #expect(digest == SHA256.hash(first + second.array))
        }
    }
}

@Suite("HMAC-SHA256")
struct HMACSHA256Tests {}

extension HMACSHA256Tests {
    static let vectors: [(key: [UInt8], message: [UInt8], code: String)] = [
        (
            [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(1...25), [UInt8](repeating: 0xCD, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131),
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size "
                    + "data. The key needs to be hashed before being used by the HMAC algorithm.")
                    .utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test("authenticates the published examples, again and again", arguments: vectors)
    func published(vector: (key: [UInt8], message: [UInt8], code: String)) {
        let key = HMACKey(vector.key)
        for _ in 0..<3 {
            let code = HMACSHA256.authenticate(vector.message, key: key)
            #expect(Hex.encode(code.array) == vector.code)
        }
    }

    @Test("tells a right code from one with a flipped bit")
    func flipped() {
        let key = HMACKey(Array("key".utf8))
        let message = Array("message".utf8)
        let code = HMACSHA256.authenticate(message, key: key)
        func isValid(_ code: Bytes32, _ key: HMACKey) -> Bool {
            HMACSHA256.isValid(code, for: message.span, key: key)
        }
        #expect(isValid(code, key))
        let wrong = Bytes32(
            word0: code.word0, word1: code.word1, word2: code.word2, word3: code.word3 ^ 1)
        #expect(!isValid(wrong, key))
        #expect(!isValid(code, HMACKey([])))
    }
}

@Suite("Random bytes and constant time")
struct RandomBytesTests {}

extension RandomBytesTests {
    @Test("gives as many bytes as asked, never the same twice")
    func random() {
        for count in [0, 1, 31, 1000] { #expect(RandomBytes.bytes(count).count == count) }
        #expect(Set((0..<100).map { _ in RandomBytes.bytes16() }).count == 100)
        #expect(Set((0..<100).map { _ in RandomBytes.bytes32() }).count == 100)
        #expect(Set((0..<100).map { _ in RandomBytes.word() }).count == 100)
    }

    @Test("compares as equality does")
    func comparison() {
        let left: [UInt8] = [1, 2, 3]
        let same: [UInt8] = [1, 2, 3]
        let other: [UInt8] = [1, 2, 4]
        let short: [UInt8] = [1, 2]
        func equals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
            ConstantTime.equals(left.span, right.span)
        }
        #expect(equals(left, same))
        #expect(!equals(left, other))
        #expect(!equals(left, short))
        #expect(equals([], []))
        let digest = SHA256.hash(left)
        #expect(ConstantTime.equals(digest, SHA256.hash(same)))
        #expect(!ConstantTime.equals(digest, SHA256.hash(other)))
    }
}
