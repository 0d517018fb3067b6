import Bytes
import Foundation

/// A private key of an issuer of a test's own. The openssl command makes it and signs with it.
public struct IssuerKey: Sendable {
    /// As in `alg`: `RS256`, `ES256`, `EdDSA` and so on.
    public let algorithm: String
    public let id: String?
    private let directory: ScratchDirectory
    private let path: String
    /// The members of its public half.
    private let members: [(String, String)]

    public init(
        _ algorithm: String, id: String? = "k", bitCount: Int = 2048,
        in directory: ScratchDirectory
    ) throws {
        self.algorithm = algorithm
        self.id = id
        self.directory = directory
        path = directory.path(of: "\(UUID().uuidString).pem")
        let options: [String] =
            switch algorithm {
            case "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case "ES384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
            case "EdDSA": ["-algorithm", "ED25519"]
            default: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bitCount)"]
            }
        try Self.openssl(["genpkey", "-out", path] + options)
        members = try Self.publicMembers(algorithm, path)
    }

    @discardableResult
    private static func openssl(_ words: [String]) throws -> String {
        let run = try ChildProcess.run("openssl", words)
        guard run.status == .exited(0) else {
            throw ChildProcessError(description: run.standardError)
        }
        return run.standardOutput
    }

    private static func read(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The last bytes of SubjectPublicKeyInfo are what a JWK has, but for RSA.
    private static func publicMembers(
        _ algorithm: String, _ path: String
    ) throws -> [(String, String)] {
        func encode(_ bytes: some Collection<UInt8>) -> String { Base64.encodeURL(Array(bytes)) }
        let derPath = path + ".der"
        try openssl(["pkey", "-in", path, "-pubout", "-outform", "DER", "-out", derPath])
        let der = try read(derPath)
        switch algorithm {
        case "ES256", "ES384":
            let byteCount = algorithm == "ES256" ? 32 : 48
            let point = der.suffix(2 * byteCount)
            return [
                ("kty", "EC"), ("crv", algorithm == "ES256" ? "P-256" : "P-384"),
                ("x", encode(point.prefix(byteCount))), ("y", encode(point.suffix(byteCount))),
            ]
        case "EdDSA": return [("kty", "OKP"), ("crv", "Ed25519"), ("x", encode(der.suffix(32)))]
        default:
            let told = try openssl(["rsa", "-in", path, "-noout", "-modulus"])
            let digits = Array(told.drop { $0 != "=" }.dropFirst().prefix { $0 != "\n" })
            let modulus = stride(from: 0, to: digits.count, by: 2).map { index in
                UInt8(String(digits[index...(index + 1)]), radix: 16) ?? 0
            }
            return [("kty", "RSA"), ("n", encode(modulus)), ("e", "AQAB")]
        }
    }

    /// The public half as SubjectPublicKeyInfo in PEM: what those who confuse algorithms take for a
    /// secret.
    public var publicPEM: [UInt8] {
        get throws { Array(try Self.openssl(["pkey", "-in", path, "-pubout"]).utf8) }
    }

    /// The public half; `changes` replace members, nil takes them away.
    public func jwk(_ changes: [String: String?] = [:]) -> String {
        var all = members
        if let id { all.append(("kid", id)) }
        all.removeAll { changes.keys.contains($0.0) }
        for (name, value) in changes { if let value { all.append((name, value)) } }
        return "{" + all.map { "\"\($0.0)\":\"\($0.1)\"" }.joined(separator: ",") + "}"
    }

    /// A document of these keys.
    public static func document(_ keys: [String]) -> String {
        "{\"keys\":[\(keys.joined(separator: ","))]}"
    }

    /// A token with these claims; `header` stands in place of the usual one.
    public func token(_ claims: String, header: String? = nil) throws -> String {
        let usual = #"{"alg":"\#(algorithm)""# + (id.map { #","kid":"\#($0)""# } ?? "") + "}"
        let signed = Self.unsigned(header ?? usual, claims)
        return "\(signed).\(Base64.encodeURL(try sign(Array(signed.utf8))))"
    }

    /// Header and claims, without a signature.
    public static func unsigned(_ header: String, _ claims: String) -> String {
        [header, claims].map { Base64.encodeURL(Array($0.utf8)) }.joined(separator: ".")
    }

    private func sign(_ message: [UInt8]) throws -> [UInt8] {
        let name = UUID().uuidString
        let messagePath = try directory.write(message, to: name)
        let signaturePath = directory.path(of: "\(name).signature")
        var words = ["pkeyutl", "-sign", "-inkey", path, "-rawin", "-in", messagePath]
        words += ["-out", signaturePath]
        if algorithm != "EdDSA" { words += ["-digest", "sha\(algorithm.suffix(3))"] }
        if algorithm.hasPrefix("PS") {
            words += ["-pkeyopt", "rsa_padding_mode:pss", "-pkeyopt", "rsa_pss_saltlen:digest"]
        }
        try Self.openssl(words)
        let signature = try Self.read(signaturePath)
        guard algorithm.hasPrefix("ES") else { return signature }
        return Self.raw(signature, byteCount: algorithm == "ES256" ? 32 : 48)
    }

    /// ECDSA's two numbers side by side.
    private static func raw(_ der: [UInt8], byteCount: Int) -> [UInt8] {
        var rest = der.dropFirst(2)
        var numbers: [UInt8] = []
        for _ in 0..<2 {
            let length = Int(rest[rest.startIndex + 1])
            let number = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
            numbers += Array(repeating: 0, count: byteCount - number.count) + number
            rest = rest.dropFirst(2 + length)
        }
        return numbers
    }
}
