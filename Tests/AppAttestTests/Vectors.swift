import AppAttest
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import Testing

/// One object from a real device, as `../shared/vectors` describes it.
struct Vector: Decodable, CustomTestStringConvertible, Sendable {
    enum CodingKeys: String, CodingKey {
        case id, kind, expected, environment, counter, flags, fields
        case object = "object_b64"
        case appID = "app_id"
        case keyID = "key_id"
        case challenge = "challenge_b64"
        case clientData = "client_data_b64"
        case clientDataHash = "client_data_hash_b64"
        case publicKey = "public_key_b64"
        case verifyAt = "verify_at"
        case notBefore = "not_before"
        case notAfter = "not_after"
        case extensions = "extensions_cbor_b64"
        case accessControl = "acl_blob_b64"
        case osVersion = "os_version"
        case osBuild = "os_build"
        case platform
        case receipt
        case receiptExpected = "receipt_expected"
        case leafExtensions = "leaf_extensions"
    }

    struct ReceiptValues: Decodable, Sendable {
        enum CodingKeys: String, CodingKey {
            case type, environment, token, order, expiration
            case creationTime = "creation_time"
            case riskMetric = "risk_metric"
            case notBefore = "not_before"
            case clientHash = "client_hash_b64"
        }

        let type: String
        let environment: String?
        let token: String?
        let order: [UInt64]
        let expiration: String?
        let creationTime: String
        let riskMetric: String?
        let notBefore: String?
        let clientHash: String?
    }

    let id: String
    let kind: String
    let expected: String
    let environment: String?
    let counter: UInt32?
    let flags: String?
    let fields: ReceiptValues?
    let object: String
    let appID: String
    let keyID: String
    let challenge: String?
    let clientData: String?
    let clientDataHash: String?
    let publicKey: String?
    let verifyAt: String?
    let notBefore: String?
    let notAfter: String?
    let extensions: String?
    let accessControl: String?
    let osVersion: String?
    let osBuild: String?
    let platform: String?
    let receipt: String?
    let receiptExpected: String?
    let leafExtensions: [String]?

    var testDescription: String { id }
    var isAccepted: Bool { expected == "accept" }
    /// `signature` of `reject:signature`.
    var rejection: String? {
        expected.hasPrefix("reject:") ? String(expected.dropFirst("reject:".count)) : nil
    }
    var objectBytes: [UInt8] { Base64.decode(object) ?? [] }
    var clientDataHashBytes: [UInt8] { clientDataHash.flatMap { Base64.decode($0) } ?? [] }
    var point: P256PublicKey? {
        publicKey.flatMap { Base64.decode($0) }.flatMap { P256PublicKey(x963: $0.span) }
    }
    var app: AppIdentity { AppIdentity(id: appID, environments: Set(AttestEnvironment.allCases)) }
    var seconds: Int64 { verifyAt.flatMap { RFC3339.parse($0)?.seconds } ?? 0 }
}

/// The files beside this repository; absent in a plain checkout, and then their tests are skipped.
enum Vectors {
    static let all: [Vector] = {
        let folder = Repository.shared.appending(path: "vectors")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            do {
                let data = try Data(contentsOf: folder.appending(path: name))
                return try JSONDecoder().decode(Vector.self, from: data)
            } catch {
                fatalError("\(name): \(error)")
            }
        }
    }()
    static let attestations = all.filter { $0.kind == "attestation" }
    static let assertions = all.filter { $0.kind == "assertion" }
    static let receipts = all.filter { $0.kind == "receipt" }
    static let absent: Comment = "../shared/vectors is absent"
    static var arePresent: Bool { !all.isEmpty }

    static func certificates(_ name: String) throws -> [Certificate] {
        let file = Repository.shared.appending(path: "certs").appending(path: name)
        return try Certificate.parsePEM([UInt8](Data(contentsOf: file)))
    }
}
