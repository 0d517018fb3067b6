import Foundation

/// What an authority has taken back: lists that the openssl command makes, in files of a test's
/// own.
public struct TestRevocations: Sendable {
    private let authority: TestCertificate
    private let directory: ScratchDirectory
    private let configurationPath: String

    public init(of authority: TestCertificate) throws {
        self.authority = authority
        directory = try ScratchDirectory()
        try directory.write("", to: "index.txt")
        configurationPath = try directory.write(
            """
            [ca]
            default_ca = own
            [own]
            database = \(directory.path)/index.txt
            default_md = sha256

            """, to: "ca.cnf")
    }

    public func revoke(_ certificate: TestCertificate) throws {
        try run(["-revoke", certificate.certificatePath])
    }

    /// Writes the list as it stands to `path`; one that has expired on demand.
    public func write(to path: String, isExpired: Bool = false) throws {
        let dates =
            isExpired
            ? ["-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200201000000Z"]
            : ["-crldays", "7"]
        try run(["-gencrl", "-out", path] + dates)
    }

    private func run(_ arguments: [String]) throws {
        let outcome = try ChildProcess.run(
            "openssl",
            ["ca", "-config", configurationPath, "-keyfile", authority.keyPath]
                + ["-cert", authority.certificatePath] + arguments)
        guard outcome.status == .exited(0) else {
            throw ChildProcessError(description: "openssl ca: \(outcome.standardError)")
        }
    }
}
