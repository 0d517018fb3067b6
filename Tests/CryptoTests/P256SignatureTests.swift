import Bytes
import Crypto
import Testing

@Suite("A P-256 signature")
struct P256SignatureTests {
    private let message = Array("thirty-two bytes, or any number.".utf8)
}

extension P256SignatureTests {
    @Test("gives and takes a signature's two numbers, with zeros in front")
    func numbers() throws {
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let high = [UInt8](repeating: 0xFF, count: 32)
        for (r, s) in [(one, high), (high, one), (one, one), (high, high)] {
            let raw = r + s
            let made = P256Signature(raw: raw.span)
            let signature = try #require(made)
            #expect(signature.raw == raw)
            #expect(try signature.der() == DER.signature(r: r, s: s))
            #expect(P256Signature(der: DER.signature(r: r, s: s)) == signature)
        }
        let key = try P256PrivateKey.generate()
        for _ in 0..<300 {
            let der = try key.sign(message)
            let signature = try #require(P256Signature(der: der))
            #expect(try signature.der() == der)
            #expect(signature.raw.count == P256Signature.rawByteCount)
        }
        let signature = try key.signature(of: message)
        let der = try signature.der()
        var verifier = try P256Verifier()
        let isValid = verifier.isValid(
            signature: der.span, message: message.span, key: key.publicKey)
        #expect(isValid)
    }

    @Test("takes no signature that is cut, longer, negative or too large")
    func strangeNumbers() throws {
        let number = [UInt8](repeating: 7, count: 32)
        let der = DER.signature(r: number, s: number)
        for count in 0..<der.count { #expect(P256Signature(der: Array(der.prefix(count))) == nil) }
        #expect(P256Signature(der: der + [0]) == nil)
        #expect(P256Signature(der: DER.signature(r: [1] + number, s: number)) == nil)
        #expect(P256Signature(der: [0x30, 0x06, 0x02, 0x01, 0xFF, 0x02, 0x01, 0x01]) == nil)
        for raw in [number + number + [0], number, []] {
            let signature = P256Signature(raw: raw.span)
            #expect(signature == nil)
        }
    }
}
