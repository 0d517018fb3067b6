import Foundation
import GatewayTesting
import Testing

/// `docs/recipes/certbot.md`.
@Suite("The recipe for certbot", .enabled(if: BuiltProgram.isBuilt))
struct CertbotRecipeTests {
    private let directory: ScratchDirectory
    private let gateway: RecipeGateway
    private let port = FreePort.find()

    init() throws {
        directory = try ScratchDirectory()
        _ = try TestCertificate(in: directory, "api")
        let page = try Recipe("certbot").page
        let shown = try #require(page.firstMatch(of: #/(?s)```yaml\n(.*?)```/#)).output.1
        gateway = try RecipeGateway(
            try String(shown).moved([
                "0.0.0.0:443": "127.0.0.1:\(port)", "/etc/sallyport": directory.path,
            ]) + """
                apps: [{ id: \(GatewayConfiguration.appID) }]
                registry: { sqlite: \(directory.path)/registry.db }
                upstreams: { api: { servers: ["127.0.0.1:1"] } }
                routes: [{ name: all, path: /*, upstream: api, attest: { mode: off } }]

                """, in: directory)
    }
}

extension CertbotRecipeTests {
    /// What `systemctl` is to the hook: the reload of the gateway under test.
    private func systemctl(refuses: Bool) throws -> String {
        let folder = directory.path(of: "bin")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let reload = refuses ? "false" : "kill -HUP \(gateway.process.processID)"
        let path = try directory.write(
            """
            #!/bin/sh
            [ "$*" = "reload sallyport" ] && \(reload)

            """, to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return folder
    }

    private func renew(
        _ certificate: String, key: String, refused: Bool = false
    ) throws -> ChildProcess.Outcome {
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
            environment: [
                "RENEWED_LINEAGE": lineage, "PATH": try systemctl(refuses: refused) + ":" + search,
            ])
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
        try gateway.process.waitForLine(
            on: .standardError, containing: #""event":"reloaded""#)
        #expect(try subject() == "subject=CN = second")
        for name in ["api.crt", "api.key"] {
            let mode = try FileManager.default.attributesOfItem(atPath: directory.path(of: name))[
                .posixPermissions]
            #expect(mode as? Int == 0o640)
        }
    }

    @Test(
        "what does not fit changes nothing, and certbot hears of it", arguments: [false, true])
    func fault(isRefused: Bool) throws {
        let second = try TestCertificate(in: directory, "second")
        let third = try TestCertificate(in: directory, "third")
        let before = try ["api.crt", "api.key"].map(contents)
        let outcome = try renew(
            second.certificatePath, key: isRefused ? second.keyPath : third.keyPath,
            refused: isRefused)
        #expect(outcome.status == .exited(1))
        let words =
            isRefused ? "the reload failed" : "the key does not belong to the certificate\n"
        #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
        #expect(try subject() == "subject=CN = api")
        #expect(try ["api.crt", "api.key"].map(contents) == before)
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!left.contains { $0.hasPrefix(".api.") })
    }

    private func contents(_ name: String) throws -> String {
        try String(contentsOfFile: directory.path(of: name), encoding: .utf8)
    }
}
