import Crypto
import Foundation
import GatewayTesting
import Testing

/// What real devices and Apple made, kept beside the checkout and not in it.
enum SharedFiles {
    static let arePresent = FileManager.default.fileExists(
        atPath: Repository.shared.appendingPathComponent("vectors").path)

    static func certificate(_ name: String) throws -> Certificate {
        let text = try Data(
            contentsOf: Repository.shared.appendingPathComponent("certs/\(name).pem"))
        return try #require(try Certificate.parsePEM([UInt8](text)).first)
    }

    /// The recorded objects whose file names begin with `prefix`.
    static func vectors(_ prefix: String) throws -> [Vector] {
        let folder = Repository.shared.appendingPathComponent("vectors")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix(prefix) && $0.hasSuffix(".json") }.sorted()
        return try names.map { name in
            try JSONDecoder().decode(
                Vector.self, from: Data(contentsOf: folder.appendingPathComponent(name)))
        }
    }

    struct Vector: Decodable {
        let id: String
        let expected: String
        private let objectText: String
        private let verifyAt: String
        private let publicKeyText: String?

        private enum CodingKeys: String, CodingKey {
            case id
            case expected
            case objectText = "object_b64"
            case verifyAt = "verify_at"
            case publicKeyText = "public_key_b64"
        }

        var object: [UInt8] { [UInt8](Data(base64Encoded: objectText) ?? Data()) }
        var publicKey: [UInt8] { [UInt8](Data(base64Encoded: publicKeyText ?? "") ?? Data()) }

        /// `verify_at` in whole seconds since 1970.
        func seconds() throws -> Int64 {
            let whole = verifyAt.prefix(19) + "Z"
            let date = try #require(ISO8601DateFormatter().date(from: String(whole)))
            return Int64(date.timeIntervalSince1970)
        }

        /// The certificates of an attestation's `x5c`, found by their length prefixes: reading CBOR
        /// is another module's.
        func chain() throws -> [Certificate] {
            let object = object
            let name = Array("x5c".utf8)
            let start = try #require(
                object.indices.first { object[$0...].starts(with: name) })
            var index = start + name.count + 1
            var certificates: [Certificate] = []
            while object[index] == 0x59 {
                let byteCount = Int(object[index + 1]) << 8 | Int(object[index + 2])
                let der = Array(object[index + 3..<index + 3 + byteCount])
                certificates.append(try Certificate(der: der))
                index += 3 + byteCount
            }
            return certificates
        }
    }
}
