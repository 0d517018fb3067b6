import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// The vectors of the Wycheproof project for ECDSA on P-256 with SHA-256: by the verifier of one
/// signature, and among others in a batch.
@Suite("Vectors of Wycheproof for P-256", .enabled(if: SharedFiles.arePresent))
struct WycheproofTests {
    private struct Vector {
        let id: Int64
        let check: P256Check
        let isValid: Bool
    }

    private func vectors(_ name: String, isRaw: Bool) throws -> [Vector] {
        let url = SharedFiles.folder.appendingPathComponent("vectors/wycheproof/\(name).json")
        let bytes = [UInt8](try Data(contentsOf: url))
        let file = try JSONValue.parse(bytes.span, byteCountMax: 1 << 24)
        return try (file["testGroups"]?.arrayValue ?? []).flatMap { group in
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
        "what is valid holds, and nothing else, one at a time and eight at once",
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
}
