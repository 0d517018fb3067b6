import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// The program as it was linked with Debian's OpenSSL 3.0, with the libraries of 3.5: what a later
/// Debian will give it.
@Suite(
    "With OpenSSL 3.5",
    .enabled(
        if: BuiltProgram.isBuilt && NewerOpenSSL.isInstalled,
        "psycopg-binary is not installed: scripts/install.sh test"), .timeLimit(.minutes(30)))
struct NewerOpenSSLTests {
    private let tls: TLSSite
    private let site: FaultSite

    init() throws {
        tls = try TLSSite()
        site = try FaultSite()
    }
}

extension NewerOpenSSLTests {
    private func gateway(_ more: String = "") throws -> GatewayProcess {
        var configuration = site.configuration
        configuration.listenerMore = ["tls: { \(TLSSite.entry(tls.leaf))\(more) }"]
        return try GatewayProcess(configuration, launcher: NewerOpenSSL.launcher)
    }

    private func handshakes(_ gateway: GatewayProcess, _ group: String) throws -> Double? {
        try gateway.metric("sallyport_tls_handshakes_total{group=\"\(group)\"}")
    }

    /// A request by curl with the newer library: the body of the answer and its status.
    private func answer(
        _ gateway: GatewayProcess, _ method: String, _ target: String,
        _ fields: [(String, String)] = [], _ body: [UInt8] = []
    ) throws -> (body: String, status: String) {
        var words = ["curl", "-sS", "--cacert", tls.authority.certificatePath, "--noproxy", "*"]
        words += ["--resolve", "a.example:\(gateway.port):127.0.0.1", "-w", "\n%{http_code}"]
        for (name, value) in fields { words += ["-H", "\(name): \(value)"] }
        if !body.isEmpty { words += ["--data-binary", "@-"] }
        words += ["-X", method, "https://a.example:\(gateway.port)\(target)"]
        let outcome = try NewerOpenSSL.run(words, standardInput: body)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let lines = outcome.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
        return (lines.dropLast().joined(separator: "\n"), lines.last.map(String.init) ?? "")
    }

    @Test("an app enrols and its signed requests pass, with keys agreed on by X25519MLKEM768")
    func verified() throws {
        let gateway = try gateway()
        let device = try site.device()
        let asked = try answer(gateway, "GET", "/attest/challenge")
        let enrolled = try answer(
            gateway, "POST", "/attest/verify", [],
            site.attestation(device, challenge: asked.body))
        #expect(enrolled.status == "200", "\(enrolled.body)")
        let call = try device.call(
            "strict", challenge: answer(gateway, "GET", "/assert/challenge").body)
        func send() throws -> String {
            try answer(gateway, call.method, call.target, call.fields, call.body).status
        }
        #expect(try send() == "200")
        #expect(try send() == "401")
        #expect(site.seenBodies == [call.bodyText: 1])
        #expect(try handshakes(gateway, "X25519MLKEM768") == 5)
        // A client of today goes on as before.
        _ = try tls.client(gateway)
        #expect(try handshakes(gateway, "x25519") == 1)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("sessions are resumed", arguments: ["-tls1_2", "-tls1_3"])
    func resumption(version: String) throws {
        let gateway = try gateway()
        let path = tls.directory.path(of: "session")
        func client(_ option: String) throws -> String {
            var words = ["openssl", "s_client", "-connect", "127.0.0.1:\(gateway.port)", version]
            words += ["-servername", "a.example", "-CAfile", tls.authority.certificatePath]
            words += ["-ign_eof", option, path]
            let request = "GET /open/it HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
            return try NewerOpenSSL.run(words, standardInput: Array(request.utf8)).standardOutput
        }
        let first = try client("-sess_out")
        #expect(first.contains("New, ") && first.contains("HTTP/1.1 200 "), "\(first)")
        let second = try client("-sess_in")
        #expect(second.contains("Reused, ") && second.contains("HTTP/1.1 200 "), "\(second)")
        #expect(try gateway.metric("sallyport_tls_resumptions_total") == 1)
    }

    /// The reasons are the numbers of 3.0 in the program, and those of 3.5 in the library.
    @Test("handshakes that fail are refused and counted as before")
    func refusals() throws {
        let gateway = try gateway(
            ", min_version: 1.3, client_certificates: "
                + "{ mode: require, ca: \(tls.authority.certificatePath) }")
        let failures: [(options: [String], reason: String, count: Double)] = [
            (["-tls1_2"], "version", 1), (["-groups", "P-521"], "parameters", 1),
            (["-sigalgs", "rsa_pss_rsae_sha256"], "parameters", 2),
            (["-alpn", "other"], "application_protocol", 1), ([], "certificate", 1),
        ]
        for (options, reason, count) in failures {
            let output = try tls.client(gateway, options)
            #expect(!output.contains("HTTP/1.1 "), "\(options): \(output)")
            #expect(try tls.hasFailures(gateway, reason, count), "\(options): \(output)")
        }
        let http = try gateway.exchange("GET", "/")
        #expect(http.bodyText == "This port speaks HTTPS only.\n")
        let noise = try RawSocket(port: gateway.port)
        try noise.send([UInt8](repeating: 0x42, count: 600))
        while try !noise.receive().isEmpty {}
        #expect(try tls.hasFailures(gateway, "not_tls", 2))
        #expect(site.upstream.requests.isEmpty)
        #expect(gateway.alarms.isEmpty)
    }
}
