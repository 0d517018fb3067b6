import AndroidAttestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import Testing

/// An attestation of a real phone, as `../shared/vectors-android` describes it.
struct AndroidVector: Decodable, CustomTestStringConvertible, Sendable {
    struct Verdict: Decodable, Sendable {
        let verdict: String
        let code: String?

        var isValid: Bool { verdict == "valid" }
    }

    struct Fields: Decodable, Sendable {
        enum CodingKeys: String, CodingKey {
            case challenge, root, provisioning, serials, origin, purposes, digests, curve
            case attestationVersion = "attestation_version"
            case securityLevel = "security_level"
            case verifiedBoot = "verified_boot"
            case verifiedBootKey = "verified_boot_key"
            case deviceLocked = "device_locked"
            case osVersion = "os_version"
            case osPatchLevel = "os_patch_level"
            case packageNames = "package_names"
            case packageVersions = "package_versions"
            case signingDigests = "signing_digests"
            case publicKey = "public_key"
            case certificatesIssued = "certificates_issued"
            case tagsRising = "tags_rising"
        }

        let attestationVersion: Int64
        let securityLevel: String
        let verifiedBoot: String?
        let verifiedBootKey: String?
        let deviceLocked: Bool?
        let osVersion: Int64?
        let osPatchLevel: Int64?
        let packageNames: [String]
        let packageVersions: [Int64]?
        let signingDigests: [String]
        let challenge: String
        let publicKey: String?
        let root: String?
        let provisioning: String?
        let certificatesIssued: UInt64?
        let origin: Int64?
        let purposes: [Int64]?
        let digests: [Int64]?
        let curve: Int64?
        let tagsRising: Bool
        let serials: [String]?
    }

    enum CodingKeys: String, CodingKey {
        case kind, quirks, at, chain, `extension`, fields
        case standard = "default"
        case anyDevice = "any_device"
        case revocationList = "revocation_list"
        case signatureHolds = "signature_holds"
    }

    let kind: String
    let quirks: [String]
    let at: String?
    let chain: [String]?
    let `extension`: String?
    let standard: Verdict?
    let anyDevice: Verdict?
    let revocationList: String?
    let signatureHolds: Bool?
    let fields: Fields?
    /// The name of the file.
    var name = ""

    var testDescription: String { name }
    var certificates: [[UInt8]] { (chain ?? []).compactMap { Base64.decode($0) } }
    var seconds: Int64 { at.flatMap { RFC3339.parse($0)?.seconds } ?? 0 }
}

/// The files beside this repository; absent in a plain checkout, and then their tests are skipped.
enum AndroidVectors {
    static let all: [AndroidVector] = {
        let folder = Repository.shared.appending(path: "vectors-android")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            do {
                let data = try Data(contentsOf: folder.appending(path: name))
                var vector = try JSONDecoder().decode(AndroidVector.self, from: data)
                vector.name = name
                return vector
            } catch {
                fatalError("\(name): \(error)")
            }
        }
    }()
    static let chains = all.filter { $0.kind == "chain" }
    static let leaves = all.filter { $0.kind == "leaf" }
    static let extensions = all.filter { $0.kind == "extension" }
    static let absent: Comment = "../shared/vectors-android is absent"
    static var arePresent: Bool { !all.isEmpty }

    static func certificateFile(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: Repository.shared.appending(path: "certs/android/\(name)")))
    }

    static func revocationList(_ name: String) throws -> RevocationList {
        try RevocationList(parsing: certificateFile(name))
    }
}
