import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// The vectors of the Wycheproof project: for ECDSA on P-256 with SHA-256, by the verifier of one
/// signature and among others in a batch, and for HMAC-SHA256.
@Suite("Vectors of Wycheproof", .enabled(if: SharedFiles.arePresent))
struct WycheproofTests {}

extension WycheproofTests {
    private struct Vector {
        let id: Int64
        let check: P256Check
        let isValid: Bool
    }

    private func groups(_ name: String) throws -> [JSONValue] {
        let url = Repository.shared.appendingPathComponent("vectors/wycheproof/\(name).json")
        let bytes = [UInt8](try Data(contentsOf: url))
        let file = try JSONValue.parse(bytes.span, byteCountMax: 1 << 24)
        return file["testGroups"]?.arrayValue ?? []
    }

    private func vectors(_ name: String, isRaw: Bool) throws -> [Vector] {
        try groups(name).flatMap { group in
            let point = Hex.decode(group["publicKey"]?["uncompressed"]?.stringValue ?? "") ?? []
            let found = P256PublicKey(x963: point.span)
            let key = try #require(found)
            return try (group["tests"]?.arrayValue ?? []).map { test in
                let message = try #require(test["msg"]?.stringValue.flatMap { Hex.decode($0) })
                let text = try #require(test["sig"]?.stringValue.flatMap { Hex.decode($0) })
                // A raw signature is of r and s alone: what is none has no DER to be checked.
                let der = isRaw ? try P256Signature(raw: text.span)?.der() ?? [] : text
                return Vector(
                    id: test["tcId"]?.integerValue ?? 0,
                    check: P256Check(
                        bytes: der, signature: 0..<der.count, digest: SHA256.hash(message),
                        key: key),
                    isValid: test["result"] == .string("valid"))
            }
        }
    }

    @Test(
        "a signature on P-256 holds if it is valid, one at a time and eight at once",
        arguments: [
            ("ecdsa_secp256r1_sha256_test", false), ("ecdsa_secp256r1_sha256_p1363_test", true),
        ])
    func vectors(_ file: (name: String, isRaw: Bool)) throws {
        let vectors = try vectors(file.name, isRaw: file.isRaw)
        let library = try TestSignatures.someLibrary()
        var batch = try P256BatchVerifier(library: library, auditPercent: 0)
        var single = try P256Verifier()
        var validCount = 0
        for start in stride(from: 0, to: vectors.count, by: 8) {
            let some = vectors[start..<min(start + 8, vectors.count)]
            let verdicts = batch.verify(some.map(\.check))
            for (index, vector) in some.enumerated() {
                let isValid = vector.check.isValid(&single)
                #expect(isValid == vector.isValid, "tcId \(vector.id)")
                #expect(verdicts[index] == vector.isValid, "tcId \(vector.id), in a batch")
                if isValid { validCount += 1 }
            }
        }
        #expect(vectors.count > 250 && validCount > 100, "\(vectors.count), \(validCount)")
        #expect(library.isTrusted)
    }

    /// Challenges have the first 16 bytes of a code, tokens have all 32.
    @Test("a code authenticates its message under its key, whole or cut to 16 bytes")
    func codes() throws {
        var validCount = 0
        var count = 0
        for group in try groups("hmac_sha256_test") {
            let byteCount = Int(try #require(group["tagSize"]?.integerValue)) / 8
            for test in group["tests"]?.arrayValue ?? [] {
                let key = try #require(test["key"]?.stringValue.flatMap { Hex.decode($0) })
                let message = try #require(test["msg"]?.stringValue.flatMap { Hex.decode($0) })
                let code = try #require(test["tag"]?.stringValue.flatMap { Hex.decode($0) })
                let isValid = test["result"] == .string("valid")
                let id = test["tcId"]?.integerValue ?? 0
                let hmacKey = HMACKey(key)
                let own = HMACSHA256.authenticate(message, key: hmacKey).array
                #expect((Array(own.prefix(byteCount)) == code) == isValid, "tcId \(id)")
                if let whole = Bytes32(code) {
                    let holds = HMACSHA256.isValid(whole, for: message.span, key: hmacKey)
                    #expect(holds == isValid, "tcId \(id)")
                }
                count += 1
                validCount += isValid ? 1 : 0
            }
        }
        #expect(count == 174 && validCount > 60, "\(count), \(validCount)")
    }
}
