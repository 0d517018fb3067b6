import Foundation
import GatewayTesting
import JSON
import TLS
import Testing

@Suite("TLS through reloads and between workers", .enabled(if: BuiltProgram.isBuilt))
struct TLSReloadTests {
    private let site: TLSSite

    init() throws { site = try TLSSite() }
}

extension TLSReloadTests {
    private func isResumed(_ gateway: GatewayProcess, _ version: String) throws -> Bool {
        let path = site.directory.path(of: "session\(version)")
        return try site.client(gateway, [version, "-sess_in", path]).contains("Reused, ")
    }

    private func saveSession(_ gateway: GatewayProcess, _ version: String) throws {
        let path = site.directory.path(of: "session\(version)")
        #expect(try site.client(gateway, [version, "-sess_out", path]).contains("New, "))
    }

    @Test("tickets resume sessions with every worker and after a reload")
    func resumption() throws {
        let gateway = try site.gateway(workers: 4)
        for version in ["-tls1_2", "-tls1_3"] {
            try saveSession(gateway, version)
            // Each connection lands on some worker.
            for _ in 0..<8 { #expect(try isResumed(gateway, version)) }
        }
        #expect(try gateway.metric("sallyport_tls_resumptions_total") == 16)
        try gateway.reload(site.configuration(workers: 4))
        for version in ["-tls1_2", "-tls1_3"] { #expect(try isResumed(gateway, version)) }
    }

    @Test("the operator's keys: the next in line still opens, and another gateway does")
    func ticketKeys() throws {
        func tls(_ names: [String]) throws -> String {
            let paths = try names.map { name in
                try site.directory.write(String(repeating: name, count: 80), to: "key-\(name)")
            }
            return "\(TLSSite.entry(site.leaf)), session_tickets: "
                + "{ keys: [\(paths.joined(separator: ", "))] }"
        }
        let gateway = try site.gateway(tls: tls(["a"]))
        try saveSession(gateway, "-tls1_3")
        #expect(try isResumed(gateway, "-tls1_3"))
        let other = try site.gateway(tls: tls(["b", "a"]))
        #expect(try isResumed(other, "-tls1_3"))
        try gateway.reload(site.configuration(tls: tls(["b"])))
        #expect(try !isResumed(gateway, "-tls1_3"))
    }

    @Test("without tickets no session is resumed")
    func noTickets() throws {
        let gateway = try site.gateway(tls: "\(TLSSite.entry(site.leaf)), session_tickets: off")
        #expect(try site.curl(gateway).standardOutput == "hello\n200")
        let text = try site.client(gateway, ["-tls1_2"])
        #expect(!text.contains("TLS session ticket:"), "\(text)")
    }

    @Test("SIGHUP: new connections get the new certificate, open ones live on")
    func reload() throws {
        let gateway = try site.gateway()
        let open = try TLSClient(port: gateway.port, trusting: site.authority)
        let next = try site.certificate("next", ["b.example"])
        #expect(try site.curl(gateway, name: "b.example").status == .exited(60))
        let event = try gateway.reload(site.configuration(tls: TLSSite.entry(next)))
        #expect(event["event"]?.stringValue == "reloaded")
        #expect(try site.curl(gateway, name: "b.example").standardOutput == "hello\n200")
        #expect(try site.curl(gateway).status == .exited(60))
        try open.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        #expect(try open.receive(until: "hello\n").hasPrefix("HTTP/1.1 200 "))
    }

    @Test("SIGHUP: a certificate that is no good changes nothing")
    func badReload() throws {
        let gateway = try site.gateway()
        let other = try site.certificate("other", ["a.example"])
        let mixed = "certificate: \(site.leaf.certificatePath), key: \(other.keyPath)"
        for tls in [mixed, "certificate: /nonexistent, key: \(other.keyPath)"] {
            let event = try gateway.reload(site.configuration(tls: tls))
            #expect(event["event"]?.stringValue == "reload_failed")
            #expect(try site.curl(gateway).standardOutput == "hello\n200")
        }
    }

    @Test("an OCSP response from a file is stapled")
    func stapling() throws {
        let serial = try output(
            "x509", ["-in", site.leaf.certificatePath, "-noout", "-serial"]
        ).dropFirst("serial=".count)
        let index = try site.directory.write(
            "V\t491231235959Z\t\t\(serial)\tunknown\t/CN=leaf\n", to: "index.txt")
        try site.directory.write("unique_subject = no\n", to: "index.txt.attr")
        let response = site.directory.path(of: "response.der")
        _ = try output(
            "ocsp",
            ["-index", index, "-CA", site.authority.certificatePath, "-rsigner"]
                + [site.authority.certificatePath, "-rkey", site.authority.keyPath, "-issuer"]
                + [site.authority.certificatePath, "-cert", site.leaf.certificatePath]
                + ["-ndays", "2", "-respout", response])
        let gateway = try site.gateway(tls: "\(TLSSite.entry(site.leaf)), ocsp: \(response)")
        for version in ["-tls1_2", "-tls1_3"] {
            let text = try site.client(gateway, [version, "-status"])
            #expect(text.contains("OCSP Response Status: successful"), "\(text)")
        }
        #expect(try site.client(gateway).contains("HTTP/1.1 200 "))
        let other = try site.certificate("unstapled", ["a.example"])
        let event = try gateway.reload(
            site.configuration(tls: "\(TLSSite.entry(other)), ocsp: \(response)"))
        #expect(event["message"]?.stringValue?.contains("about another certificate") == true)
    }

    private func output(_ command: String, _ arguments: [String]) throws -> String {
        let outcome = try ChildProcess.run("openssl", [command] + arguments)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        return outcome.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
