import AppAttestTesting
import Bytes
import Crypto
import DER
import Foundation
import GatewayTesting

/// An algorithm of a certificate's or a message's signature, as AlgorithmIdentifier in DER.
enum PathAlgorithm: Sendable {
    case ecdsaSHA256, ecdsaSHA384, ecdsaSHA512, ecdsaSHA1
    case rsaSHA256, rsaSHA1, rsaMD5
    case dsaSHA256
    case ed25519

    var der: [UInt8] {
        let oid: [UInt8] =
            switch self {
            case .ecdsaSHA1: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01]
            case .ecdsaSHA256: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
            case .ecdsaSHA384: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
            case .ecdsaSHA512: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x04]
            case .rsaSHA256: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
            case .rsaSHA1: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05]
            case .rsaMD5: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x04]
            case .dsaSHA256: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x02]
            case .ed25519: [0x2B, 0x65, 0x70]
            }
        let isRSA = self == .rsaSHA256 || self == .rsaSHA1 || self == .rsaMD5
        return DERWriter.sequence([DERWriter.element(0x06, oid), isRSA ? [0x05, 0x00] : []])
    }

    fileprivate var digest: String {
        switch self {
        case .ecdsaSHA1, .rsaSHA1: "-sha1"
        case .ecdsaSHA384: "-sha384"
        case .ecdsaSHA512: "-sha512"
        case .rsaMD5: "-md5"
        default: "-sha256"
        }
    }
}

/// A key of a certificate in the table of paths: on P-256 or P-384 our own, any other kind made and
/// used by the openssl command.
enum PathKey: Sendable {
    case own(ECPrivateKey)
    /// A private key in PEM.
    case command(pem: [UInt8], info: [UInt8])

    static func make(_ arguments: [String]) throws -> PathKey {
        let pem = Array(try openssl(["genpkey"] + arguments).utf8)
        return try PathKey(pem: pem)
    }

    init(pem: [UInt8]) throws {
        self = .command(pem: pem, info: try Self.info(pem))
    }

    /// SubjectPublicKeyInfo in DER.
    func info() throws -> [UInt8] {
        switch self {
        case .own(let key): try Self.info(key.pem())
        case .command(_, let info): info
        }
    }

    func sign(_ message: [UInt8], _ algorithm: PathAlgorithm) throws -> [UInt8] {
        if case .own(let key) = self, algorithm == .ecdsaSHA256 { return try key.sign(message) }
        let folder = try ScratchDirectory()
        let (keyPath, output) = ("\(folder.path)/key", "\(folder.path)/signature")
        let input = "\(folder.path)/message"
        let pem: [UInt8] =
            switch self {
            case .own(let key): try key.pem()
            case .command(let pem, _): pem
            }
        try Data(pem).write(to: URL(filePath: keyPath))
        try Data(message).write(to: URL(filePath: input))
        let files = ["-out", output]
        if algorithm == .ed25519 {
            _ = try Self.openssl(
                ["pkeyutl", "-sign", "-rawin", "-inkey", keyPath, "-in", input] + files)
        } else {
            _ = try Self.openssl(["dgst", algorithm.digest, "-sign", keyPath] + files + [input])
        }
        return [UInt8](try Data(contentsOf: URL(filePath: output)))
    }

    private static func info(_ pem: [UInt8]) throws -> [UInt8] {
        try block(try openssl(["pkey", "-pubout"], pem))
    }

    /// The bytes of a PEM text's only block.
    static func block(_ text: String) throws -> [UInt8] {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        guard let bytes = Base64.decode(lines.joined()) else { throw PathError(text) }
        return bytes
    }

    /// What the command wrote to its standard output.
    static func openssl(_ arguments: [String], _ input: [UInt8] = []) throws -> String {
        let outcome = try ChildProcess.run("openssl", arguments, standardInput: input)
        guard outcome.status == .exited(0) else {
            throw PathError("\(arguments): \(outcome.standardError)")
        }
        return outcome.standardOutput
    }
}

/// A row of a table could not be minted.
struct PathError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
