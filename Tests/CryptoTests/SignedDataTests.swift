import Bytes
import Crypto
import Testing

@Suite("A CMS message")
struct SignedDataTests {
    let authority: Authority
    let key: P256PrivateKey
    let signer: Certificate
    let content = (0..<2500).map { UInt8(truncatingIfNeeded: $0 * 31) }

    init() throws {
        authority = try Authority()
        key = try P256PrivateKey.generate()
        signer = try Authority.leafBuilder(key: key.publicKey).certificate(
            issuer: .certificate(authority.issuer), signingKey: authority.issuerKey)
    }
}

extension SignedDataTests {
    func message(
        _ content: [UInt8]? = nil, certificates: [Certificate]? = nil,
        encoding: SignedData.Encoding = .indefinite(pieceByteCount: 1000)
    ) throws -> [UInt8] {
        try SignedData.sign(
            content ?? self.content, signer: signer, key: key.key,
            certificates: certificates ?? [authority.issuer, authority.root], encoding: encoding)
    }

    /// Nil where the message verifies.
    func refusal(
        _ ber: [UInt8], _ roots: [Certificate]? = nil, at seconds: Int64 = Authority.noon
    ) -> SignedDataError? {
        do throws(SignedDataError) {
            _ = try SignedData.verify(ber: ber, roots: roots ?? [authority.root], at: seconds)
            return nil
        } catch {
            return error
        }
    }

    @Test("gives back content and signer, before and after verifying")
    func roundTrip() throws {
        let encodings: [SignedData.Encoding] = [
            .der, .indefinite(pieceByteCount: 1000), .indefinite(pieceByteCount: 7),
            .indefinite(pieceByteCount: 5000),
        ]
        for encoding in encodings {
            for content in [content, [0x31, 0x00], Array(content.prefix(1000))] {
                let ber = try message(content, encoding: encoding)
                let read = try SignedData(ber: ber)
                #expect(read.content == content)
                #expect(read.signer == signer)
                #expect(read.certificates.count == 3)
                let verified = try SignedData.verify(
                    ber: ber, roots: [authority.root], at: Authority.noon)
                #expect(verified.content == content && verified.signer == signer)
            }
        }
    }

    @Test("comes in pieces of the asked size, under indefinite lengths")
    func pieces() throws {
        let ber = try message()
        #expect(ber.starts(with: [0x30, 0x80]))
        for piece in [content[0..<1000], content[1000..<2000]] {
            let expected = [0x04, 0x82, 0x03, 0xE8] + piece
            #expect(ber.indices.contains { ber[$0...].starts(with: expected) })
        }
    }

    @Test("is refused when content, signature or signer do not fit")
    func tampered() throws {
        let ber = try message(encoding: .der)
        let start = try #require(
            ber.indices.first { ber[$0...].starts(with: content.prefix(20)) })
        var changed = ber
        changed[start + 700] ^= 1
        #expect(refusal(changed) == .badSignature)
        var resigned = ber
        resigned[ber.count - 1] ^= 1
        #expect(refusal(resigned) == .badSignature)
        #expect(refusal(ber) == nil)
    }

    @Test("is trusted only by its signer's chain, at the asked time")
    func chain() throws {
        let ber = try message()
        #expect(refusal(ber, []) == .signer(.untrusted))
        #expect(refusal(ber, [try Authority().root]) == .signer(.untrusted))
        #expect(refusal(ber, at: signer.notAfter + 1) == .signer(.expired))
        #expect(refusal(ber, at: signer.notBefore - 1) == .signer(.notYetValid))
        // The path must be in the message: no other certificates are at hand.
        #expect(refusal(try message(certificates: [])) == .signer(.untrusted))
        #expect(refusal(try message(certificates: [authority.issuer])) == nil)
    }

    @Test("is refused when cut, lengthened, too large, or garbage")
    func garbage() throws {
        let ber = try message(Array(content.prefix(40)))
        for count in 0..<ber.count {
            #expect(throws: SignedDataError.self) { try SignedData(ber: Array(ber.prefix(count))) }
        }
        let large = [UInt8](repeating: 0x30, count: SignedData.byteCountMax + 1)
        let nested = [UInt8](repeating: 0x24, count: 60_000)
        for bytes in [ber + [0], ber + ber, large, nested, signer.der] {
            #expect(throws: SignedDataError.self) { try SignedData(ber: bytes) }
        }
        let many = try (0..<8).map { _ in try authority.leaf() }
        let crowded = try message(certificates: many)
        #expect(throws: SignedDataError.malformed("9 certificates")) {
            try SignedData(ber: crowded)
        }
    }

    @Test("never traps, and never verifies other content, on a flipped byte")
    func flippedBytes() throws {
        let content = Array(content.prefix(40))
        let ber = try message(content)
        // Every third byte: the chain's two slow signatures are checked for most of them.
        for index in stride(from: 0, to: ber.count, by: 3) {
            var changed = ber
            changed[index] ^= 0xFF
            let verified = try? SignedData.verify(
                ber: changed, roots: [authority.root], at: Authority.noon)
            if let verified { #expect(verified.content == content) }
        }
    }

    @Test("is not signed with a key that is not the signer's")
    func wrongKey() throws {
        let other = try P256PrivateKey.generate()
        #expect(throws: CryptoError.self) {
            try SignedData.sign(
                content, signer: signer, key: other.key, certificates: [authority.issuer])
        }
    }
}
