import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Revoked certificates", .enabled(if: BuiltProgram.isBuilt))
struct TLSRevocationTests {
    private let site: TLSSite
    private let revocations: TestRevocations
    private let listPath: String

    init() throws {
        site = try TLSSite()
        revocations = try TestRevocations(of: site.authority)
        listPath = site.directory.path(of: "list.crl")
        try revocations.write(to: listPath)
    }
}

extension TLSRevocationTests {
    private var lists: String { "ca: \(site.authority.certificatePath), crl: \(listPath)" }

    private func demanding() -> String {
        "\(TLSSite.entry(site.leaf)), client_certificates: { mode: require, \(lists) }"
    }

    @Test("of clients are refused from the next reload on, resumed sessions too")
    func clients() throws {
        let (first, second) = try (
            site.certificate("first", ["first"]), site.certificate("second", ["second"])
        )
        let gateway = try site.gateway(tls: demanding())
        func answer(_ certificate: TestCertificate) throws -> String {
            try site.curl(
                gateway, ["--cert", certificate.certificatePath, "--key", certificate.keyPath]
            ).standardOutput
        }
        let session = site.directory.path(of: "session")
        func resume(_ option: String) throws -> String {
            try site.client(
                gateway,
                ["-tls1_2", option, session, "-cert", second.certificatePath]
                    + ["-key", second.keyPath])
        }
        #expect(try answer(first) == "hello\n200")
        #expect(try answer(second) == "hello\n200")
        #expect(try resume("-sess_out").contains("hello"))
        #expect(try resume("-sess_in").contains("Reused, "))
        try revocations.revoke(second)
        try revocations.write(to: listPath)
        let event = try gateway.reload(site.configuration(tls: demanding()))
        #expect(event["event"]?.stringValue == "reloaded")
        #expect(try answer(first) == "hello\n200")
        #expect(try answer(second) == "000")
        #expect(try !resume("-sess_in").contains("hello"))
        #expect(try site.hasFailures(gateway, "certificate", 2))
    }

    @Test("a list that has expired lets nobody in, and check and doctor say so")
    func expired() throws {
        try revocations.write(to: listPath, isExpired: true)
        let own = try site.certificate("client", ["client"])
        let gateway = try site.gateway(tls: demanding())
        let outcome = try site.curl(
            gateway, ["--cert", own.certificatePath, "--key", own.keyPath])
        #expect(outcome.standardOutput == "000")
        let check = try BuiltProgram.run(["check", "-c", gateway.configurationPath])
        #expect(check.status == .exited(0))
        #expect(check.standardError.contains("list.crl\" HAS EXPIRED"), "\(check.standardError)")
        let doctor = try BuiltProgram.run(["doctor", "-c", gateway.configurationPath])
        #expect(doctor.status == .exited(1))
        #expect(
            doctor.standardOutput.contains("list.crl: until 2020-02-01T00:00:00Z"),
            "\(doctor.standardOutput)")
    }

    @Test("of upstreams are refused from the next reload on")
    func upstream() throws {
        let port = FreePort.find()
        let server = try ChildProcess(
            "openssl",
            ["s_server", "-accept", "127.0.0.1:\(port)", "-www"]
                + ["-cert", site.leaf.certificatePath, "-key", site.leaf.keyPath])
        try server.waitForLine(on: .standardOutput, containing: "ACCEPT")
        var configuration = GatewayConfiguration(upstreamPort: port)
        configuration.upstreams["api"]? += ", tls: { \(lists), server_name: a.example }"
        let gateway = try GatewayProcess(configuration)
        #expect(try gateway.exchange("GET", "/").status == 200)
        try revocations.revoke(site.leaf)
        try revocations.write(to: listPath)
        try gateway.reload(configuration)
        let index = gateway.accessLineCount
        #expect(try gateway.exchange("GET", "/").status == 502)
        let detail = try gateway.accessLine(from: index)["detail"]?.stringValue
        #expect(detail?.contains("certificate revoked") == true, "\(detail ?? "")")
        server.kill()
    }
}
