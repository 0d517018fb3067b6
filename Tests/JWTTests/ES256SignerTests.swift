import Bytes
import Crypto
import GatewayTesting
import JSON
import JWT
import Testing

@Suite("Tokens signed by ES256", .timeLimit(.minutes(30)))
struct ES256SignerTests {}

extension ES256SignerTests {
    private func parts(of token: [UInt8]) throws -> [[UInt8]] {
        try String(decoding: token, as: UTF8.self)
            .split(separator: ".", omittingEmptySubsequences: false)
            .map { try #require(Base64.decode(String($0))) }
    }

    @Test("name their key, carry the claims as they are and verify")
    func form() throws {
        let key = try P256PrivateKey.generate()
        let signer = ES256Signer(key: key, keyID: "ABC\"123", type: "JWT")
        let claims = Array(#"{"iss":"TEAM","iat":1000}"#.utf8)
        let token = try signer.token(claims: claims.span)
        let parts = try parts(of: token)
        try #require(parts.count == 3)
        let headerBytes = parts[0]
        let header = try JSONValue.parse(headerBytes.span, byteCountMax: 4096)
        #expect(header["alg"] == .string("ES256"))
        #expect(header["kid"] == .string("ABC\"123"))
        #expect(header["typ"] == .string("JWT"))
        #expect(parts[1] == claims)
        #expect(parts[2].count == P256Signature.rawByteCount)
        let raw = parts[2]
        let made = P256Signature(raw: raw.span)
        let signature = try #require(made)
        let signed = Array(token.prefix(upTo: try #require(token.lastIndex(of: 0x2E))))
        var verifier = try P256Verifier()
        let der = try signature.der()
        let isValid = verifier.isValid(
            signature: der.span, message: signed.span, key: key.publicKey)
        #expect(isValid)
        #expect(signer.keyID == "ABC\"123")
        let plain = try ES256Signer(key: key, keyID: "K").token(claims: claims.span)
        #expect(try self.parts(of: plain)[0] == Array(#"{"alg":"ES256","kid":"K"}"#.utf8))
    }

    @Test("verify with openssl, which is given r and s as DER")
    func openssl() throws {
        let directory = try ScratchDirectory()
        let key = try P256PrivateKey.generate()
        let token = try ES256Signer(key: key, keyID: "K").token(claims: Array("{}".utf8).span)
        let parts = try parts(of: token)
        let signed = Array(token.prefix(upTo: try #require(token.lastIndex(of: 0x2E))))
        let raw = parts[2]
        let made = P256Signature(raw: raw.span)
        let signature = try #require(made)
        let keyPath = try directory.write(key.pem(), to: "key.p8")
        let signaturePath = try directory.write(signature.der(), to: "signature")
        let outcome = try ChildProcess.run(
            "openssl", ["dgst", "-sha256", "-prverify", keyPath, "-signature", signaturePath],
            standardInput: signed)
        #expect(outcome.standardOutput == "Verified OK\n")
    }
}
