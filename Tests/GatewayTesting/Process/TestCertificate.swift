import Foundation

/// A certificate and its key that the openssl command minted, in files of a test's own.
public struct TestCertificate: Sendable {
    public enum Kind: Sendable {
        case rsa
        case ecdsa
    }

    public let certificatePath: String
    public let keyPath: String

    /// Valid for a month from now on; its own issuer where none is given.
    public init(
        in directory: ScratchDirectory, _ fileName: String, names: [String] = ["localhost"],
        kind: Kind = .ecdsa, issuer: TestCertificate? = nil, isCA: Bool = false
    ) throws {
        certificatePath = "\(directory.path)/\(fileName).crt"
        keyPath = "\(directory.path)/\(fileName).key"
        var arguments = ["req", "-x509", "-nodes", "-days", "30", "-newkey"]
        switch kind {
        case .rsa: arguments += ["rsa:2048"]
        case .ecdsa: arguments += ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        }
        arguments += ["-keyout", keyPath, "-out", certificatePath, "-subj", "/CN=\(fileName)"]
        arguments += ["-addext", "basicConstraints=critical,CA:\(isCA ? "TRUE" : "FALSE")"]
        if !names.isEmpty {
            let list = names.map { $0.contains(where: \.isLetter) ? "DNS:\($0)" : "IP:\($0)" }
            arguments += ["-addext", "subjectAltName=\(list.joined(separator: ","))"]
        }
        if let issuer {
            arguments += ["-CA", issuer.certificatePath, "-CAkey", issuer.keyPath]
        }
        try Self.openssl(arguments)
    }

    private static func openssl(_ arguments: [String]) throws {
        let outcome = try ChildProcess.run("openssl", arguments)
        guard outcome.status == .exited(0) else {
            throw ChildProcessError(
                description: "openssl \(arguments[0]): \(outcome.standardError)")
        }
    }

    /// Has `issuer`, who issued it, put another in its place that ended yesterday.
    public func expire(by issuer: TestCertificate) throws {
        let request = certificatePath + ".csr"
        try Self.openssl([
            "x509", "-x509toreq", "-in", certificatePath, "-signkey", keyPath,
            "-copy_extensions", "copyall", "-out", request,
        ])
        try Self.openssl([
            "x509", "-req", "-in", request, "-CA", issuer.certificatePath, "-CAkey",
            issuer.keyPath, "-copy_extensions", "copyall", "-days", "-1", "-out", certificatePath,
        ])
    }

    /// An authority that can issue others.
    public static func authority(
        in directory: ScratchDirectory, _ fileName: String = "authority"
    ) throws -> TestCertificate {
        try TestCertificate(in: directory, fileName, names: [], isCA: true)
    }

    public var certificatePEM: [UInt8] { get throws { try Self.read(certificatePath) } }
    public var keyPEM: [UInt8] { get throws { try Self.read(keyPath) } }

    private static func read(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
}
