import Bytes
import Crypto
import GatewayTesting
import Testing

@Suite("A P-256 verifier")
struct P256Tests {
    static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    let message = Array("thirty-two bytes, or any number.".utf8)
}

extension P256Tests {
    func isValid(_ signature: [UInt8], _ message: [UInt8], _ key: P256PublicKey) throws -> Bool {
        var verifier = try P256Verifier()
        return verifier.isValid(signature: signature.span, message: message.span, key: key)
    }

    @Test("accepts what the key signed, for many keys in turn")
    func roundTrip() throws {
        var verifier = try P256Verifier()
        let keys = try (0..<8).map { _ in try P256PrivateKey.generate() }
        let signatures = try keys.map { try $0.sign(message) }
        for _ in 0..<2 {
            for (signer, signature) in zip(keys, signatures) {
                for key in keys {
                    let verdict = verifier.isValid(
                        signature: signature.span, message: message.span, key: key.publicKey)
                    #expect(verdict == (key === signer))
                }
            }
        }
    }

    @Test("verifies RFC 6979's example, made by another implementation")
    func published() throws {
        let key = P256PublicKey(
            x: try #require(
                Bytes32(hex: "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6")),
            y: try #require(
                Bytes32(hex: "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")))
        let signature = DER.signature(
            r: Hex.decode("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716") ?? [],
            s: Hex.decode("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8") ?? [])
        #expect(try isValid(signature, Array("sample".utf8), key))
        let otherMessage = try isValid(signature, Array("samplf".utf8), key)
        #expect(!otherMessage)
    }

    @Test("accepts (r, n - s) as ECDSA does: a signature's bytes are no identity")
    func otherHalf() throws {
        let key = try P256PrivateKey.generate()
        let signature = try key.sign(message)
        let (r, s) = try #require(DER.numbers(of: signature))
        let order = try #require(Hex.decode(Self.order))
        let mirrored = DER.signature(r: r, s: DER.difference(order, s))
        #expect(mirrored != signature)
        #expect(try isValid(mirrored, message, key.publicKey))
    }

    @Test("refuses every other encoding of a valid signature")
    func encodings() throws {
        let key = try P256PrivateKey.generate()
        let signature = try key.sign(message)
        let (r, s) = try #require(DER.numbers(of: signature))
        var longForm = signature
        longForm.insert(0x81, at: 1)
        let order = try #require(Hex.decode(Self.order))
        let zero = [UInt8](repeating: 0, count: 32)
        let variants: [[UInt8]] = [
            [], signature + [0], signature + signature, longForm, r + s, [0x30, 0x00],
            [0x30, 0x80] + signature.dropFirst(2) + [0, 0],
            DER.signature(r: zero, s: s), DER.signature(r: r, s: zero),
            DER.signature(r: order, s: s), DER.signature(r: r, s: order),
            [UInt8](repeating: 0x30, count: 10_000),
        ]
        for variant in variants {
            let verdict = try isValid(variant, message, key.publicKey)
            #expect(!verdict, "\(Hex.encode(Array(variant.prefix(80))))")
        }
        for count in 0..<signature.count {
            let verdict = try isValid(Array(signature.prefix(count)), message, key.publicKey)
            #expect(!verdict, "cut to \(count)")
        }
    }

    @Test("refuses a point off the curve and goes on with the next key")
    func offCurve() throws {
        var verifier = try P256Verifier()
        let key = try P256PrivateKey.generate()
        let signature = try key.sign(message)
        let y = key.publicKey.y
        let wrong = P256PublicKey(
            x: key.publicKey.x,
            y: Bytes32(word0: y.word0, word1: y.word1, word2: y.word2, word3: y.word3 ^ 1))
        let allOnes = Bytes32(word0: .max, word1: .max, word2: .max, word3: .max)
        let bad = [
            wrong, P256PublicKey(x: .zero, y: .zero), P256PublicKey(x: allOnes, y: allOnes),
        ]
        let before = verifier.isOnCurve(key.publicKey)
        #expect(before)
        for point in bad {
            let isOnCurve = verifier.isOnCurve(point)
            #expect(!isOnCurve)
            let refused = verifier.isValid(
                signature: signature.span, message: message.span, key: point)
            #expect(!refused)
            let accepted = verifier.isValid(
                signature: signature.span, message: message.span, key: key.publicKey)
            #expect(accepted)
        }
    }

    @Test("keeps coordinates that begin with zero bytes")
    func leadingZeros() throws {
        var seen = (x: false, y: false)
        var scalar: UInt64 = 1
        while !(seen.x && seen.y) {
            let key = try P256PrivateKey(
                scalar: Bytes32(word0: 0, word1: 0, word2: 0, word3: scalar))
            scalar += 1
            guard key.publicKey.x[0] == 0 || key.publicKey.y[0] == 0 else { continue }
            seen = (seen.x || key.publicKey.x[0] == 0, seen.y || key.publicKey.y[0] == 0)
            #expect(key.publicKey.x963.count == 65)
            #expect(try isValid(key.sign(message), message, key.publicKey))
        }
    }
}

@Suite("A P-256 private key")
struct P256PrivateKeyTests {}

extension P256PrivateKeyTests {
    @Test("reads back what it wrote as PEM")
    func pem() throws {
        let key = try P256PrivateKey.generate()
        let read = try P256PrivateKey(pem: key.pem())
        #expect(read.publicKey == key.publicKey)
    }

    @Test("is made anew from the same scalar")
    func scalar() throws {
        let one = Bytes32(word0: 0, word1: 0, word2: 0, word3: 1)
        let key = try P256PrivateKey(scalar: one)
        // The curve's base point (SEC 2 section 2.4.2).
        #expect(
            Hex.encode(key.publicKey.x.array)
                == "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
    }

    @Test("refuses scalars outside 1 to n - 1")
    func badScalar() throws {
        let order = try #require(Bytes32(hex: P256Tests.order))
        let allOnes = Bytes32(word0: .max, word1: .max, word2: .max, word3: .max)
        for scalar in [.zero, order, allOnes] {
            #expect(throws: CryptoError.self) { try P256PrivateKey(scalar: scalar) }
        }
        #expect(throws: CryptoError.self) { try ECPrivateKey(curve: .p384, scalar: [1]) }
    }

    @Test("refuses what is no P-256 key in PEM, and never asks for a password")
    func badPEM() throws {
        let p384 = try ECPrivateKey.generate(.p384).pem()
        let key = try P256PrivateKey.generate().pem()
        let encrypted = try ChildProcess.run(
            "openssl", ["pkcs8", "-topk8", "-passout", "pass:opensesame"], standardInput: key
        ).standardOutput
        #expect(encrypted.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        for text in [[], Array("-----BEGIN".utf8), p384, Array(encrypted.utf8)] {
            #expect(throws: CryptoError.self) { try P256PrivateKey(pem: text) }
        }
    }
}
