import Foundation
import GatewayTesting
import Testing

/// `docs/recipes/certbot.md`.
@Suite("The recipe for certbot", .enabled(if: BuiltProgram.isBuilt))
struct CertbotRecipeTests {
    private let directory: ScratchDirectory
    private let gateway: GatewayProcess
    private let port = FreePort.find()

    init() throws {
        directory = try ScratchDirectory()
        let first = try TestCertificate(in: directory, "api")
        var configuration = GatewayConfiguration(upstreamPort: 1)
        configuration.binds = [
            "127.0.0.1:\(port)\n    tls: { certificate: \(first.certificatePath),"
                + " key: \(first.keyPath) }"
        ]
        gateway = try GatewayProcess(configuration, directory: directory)
    }

    /// What `systemctl` is to the hook: the reload of the gateway under test.
    private func systemctl() throws -> String {
        let folder = directory.path(of: "bin")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let path = try directory.write(
            """
            #!/bin/sh
            [ "$*" = "reload sallyport" ] && kill -HUP \(gateway.current.processID)

            """, to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return folder
    }

    private func renew(_ certificate: String, key: String) throws -> ChildProcess.Outcome {
        let lineage = directory.path(of: UUID().uuidString)
        try FileManager.default.createDirectory(atPath: lineage, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: certificate, toPath: lineage + "/fullchain.pem")
        try FileManager.default.copyItem(atPath: key, toPath: lineage + "/privkey.pem")
        let hook = try directory.write(
            try Recipe.file("certbot/deploy-hook.sh").moved([
                "directory=/etc/sallyport": "directory=\(directory.path)",
                "-g sallyport": "-g \(getegid())",
            ]), to: "hook")
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return try ChildProcess.run(
            "sh", [hook],
            environment: ["RENEWED_LINEAGE": lineage, "PATH": try systemctl() + ":" + search])
    }

    /// The subject of the certificate that a client sees.
    private func subject() throws -> String {
        let shown = try ChildProcess.run(
            "openssl", ["s_client", "-connect", "127.0.0.1:\(port)"]
        ).standardOutput
        return shown.split(separator: "\n").first { $0.hasPrefix("subject=") }.map(String.init)
            ?? ""
    }

    @Test("a renewed certificate is copied and served, for the gateway's user alone to read")
    func renewal() throws {
        #expect(try subject() == "subject=CN = api")
        let second = try TestCertificate(in: directory, "second")
        let outcome = try renew(second.certificatePath, key: second.keyPath)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        try gateway.waitForEvent("reloaded")
        #expect(try subject() == "subject=CN = second")
        for name in ["api.crt", "api.key"] {
            let mode = try FileManager.default.attributesOfItem(atPath: directory.path(of: name))[
                .posixPermissions]
            #expect(mode as? Int == 0o640)
        }
    }

    @Test("a key that does not belong to its certificate changes nothing, and certbot hears of it")
    func mismatch() throws {
        let second = try TestCertificate(in: directory, "second")
        let third = try TestCertificate(in: directory, "third")
        let outcome = try renew(second.certificatePath, key: third.keyPath)
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.hasSuffix("the key does not belong to the certificate\n"))
        #expect(try subject() == "subject=CN = api")
        // Neither half of it is left behind.
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!left.contains { $0.hasPrefix(".api.") })
        #expect(
            try Data(contentsOf: URL(filePath: directory.path(of: "api.key")))
                != Data(contentsOf: URL(filePath: third.keyPath)))
    }
}
