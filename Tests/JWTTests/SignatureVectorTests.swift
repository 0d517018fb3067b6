import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import JWT
import Testing

/// Beside the checkout, and not in it.
private enum SignatureVectors {
    static let file = Repository.shared.appending(
        path: "vectors/wycheproof/json_web_signature_test.json")
    static let arePresent = FileManager.default.fileExists(atPath: file.path)
}

/// The vectors of the Wycheproof project for JSON Web Signatures, which sign no claims:
/// only signatures are looked at.
@Suite("Vectors of Wycheproof for signatures", .enabled(if: SignatureVectors.arePresent))
struct SignatureVectorTests {}

extension SignatureVectorTests {
    @Test("what is valid holds, and nothing else")
    func vectors() throws {
        let bytes = [UInt8](try Data(contentsOf: SignatureVectors.file))
        let file = try JSONValue.parse(bytes.span, byteCountMax: 1 << 24)
        var acceptedCount = 0
        var refusedCount = 0
        for group in file["testGroups"]?.arrayValue ?? [] {
            let key = try #require(group["public"] ?? group["private"])
            // P-521 is not among our algorithms.
            guard key["crv"] != .string("P-521") else { continue }
            for test in group["tests"]?.arrayValue ?? [] {
                let token = Array((test["jws"]?.stringValue ?? "").utf8)
                let isValid = holds(token, key)
                if isValid { acceptedCount += 1 } else { refusedCount += 1 }
                let label = "\(test["tcId"] ?? .null): \(test["comment"]?.stringValue ?? "")"
                let id = test["tcId"]?.integerValue ?? 0
                let expected = Self.others[id] ?? (test["result"] == .string("valid"))
                #expect(isValid == expected, "\(label)")
            }
        }
        #expect(acceptedCount > 30 && refusedCount > 300, "\(acceptedCount), \(refusedCount)")
    }

    /// Where the file is not followed.
    private static let others: [Int64: Bool] = [
        // Signed by PS384 with a key that says that it is for PS256.
        346: false, 350: false,
        // Called bad for their padding, of which they have none: byte for byte a valid vector.
        367: true, 370: true,
        // Called valid with a question mark in them, which base64url does not have.
        372: false, 373: false,
    ]

    private func holds(_ token: [UInt8], _ key: JSONValue) -> Bool {
        if key["kty"] == .string("oct") {
            guard let secret = key["k"]?.stringValue.flatMap({ Base64.decode($0) }) else {
                return false
            }
            return holds(token, .secrets([HMACKey(secret)]), [.hs256])
        }
        var writer = JSONWriter()
        writer.element(.object(["keys": .array([key])]))
        let document = writer.finish().readable.array
        guard let set = try? JSONWebKeySet(parsing: document.span) else { return false }
        let algorithms = TokenAlgorithm.allCases.filter { !$0.isSymmetric }
        return holds(token, .published(set), algorithms)
    }

    private func holds(_ token: [UInt8], _ keys: TokenKeys, _ algorithms: [TokenAlgorithm]) -> Bool
    {
        let verifier = TokenVerifier(
            issuer: nil, audiences: [], algorithms: Set(algorithms))
        return (try? verifier.payload(of: token.span, keys: keys)) != nil
    }
}
