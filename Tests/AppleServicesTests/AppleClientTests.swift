import AppAttest
import AppleServices
import Attestation
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import HTTPSClient
import TLS
import Testing

@Suite(
    "A client of Apple's services", .enabled(if: NginxServer.isInstalled), .timeLimit(.minutes(30)))
struct AppleClientTests {
    private final class Observer: AppleObserver {
        var answers: [String] = []
        var refusals: [String] = []

        func appleAnswered(service: String, environment: AttestEnvironment, label: String) {
            answers.append("\(service) \(environment) \(label)")
        }

        func appleRefused(keyID: String, teamID: String, failure: AppleFailure) {
            refusals.append("\(teamID) \(keyID) \(failure.label)")
        }
    }

    private static let team = "ABCDE12345"
    private let loop: EventLoop
    private let directory: ScratchDirectory
    private let authority: TestCertificate
    private let observer = Observer()

    init() throws {
        loop = try EventLoop()
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
    }
}

extension AppleClientTests {
    /// Of HTTP/1.1: in HTTP/2 nginx may reset a stream whose body it does not look at before the
    /// body has left.
    private func server(_ locations: String) throws -> NginxServer {
        let host = try TestCertificate(
            in: directory, "host", names: ["127.0.0.1"], issuer: authority)
        return try NginxServer(
            locations: """
                ssl_certificate \(host.certificatePath);
                ssl_certificate_key \(host.keyPath);
                \(locations)
                """, options: "ssl")
    }

    private func client(_ port: UInt16, keys: [String]) throws -> AppleClient {
        var https = HTTPSConfiguration(
            authorities: try TLSAuthorities(pem: authority.certificatePEM))
        https.proxy = .direct
        https.connectTimeout = .seconds(20)
        https.timeout = .seconds(60)
        https.inFlightCountMax = 8
        var configuration = AppleConfiguration(
            keys: try keys.map {
                AppleKey(teamID: Self.team, keyID: $0, key: try P256PrivateKey.generate())
            }, https: https)
        let base = "https://127.0.0.1:\(port)"
        configuration.attestationData = AppleHosts(
            production: base + "/production", development: base + "/development")
        configuration.deviceCheck = configuration.attestationData
        let client = try AppleClient(loop: loop, configuration)
        client.observer = observer
        return client
    }

    /// How the header of a token by this key begins, in `Authorization`.
    private func header(_ keyID: String) -> String {
        Base64.encodeURL(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
    }

    private func renew(
        _ client: AppleClient, team: String = team, _ environment: AttestEnvironment = .production
    ) throws -> AttestationData.Answer {
        var found: AttestationData.Answer?
        client.renew(receipt: [1, 2, 3], teamID: team, environment: environment) { [loop] answer in
            found = answer
            loop.stop()
        }
        #expect(found == nil, "answers come later")
        loop.run()
        return try #require(found)
    }

    private func ask(
        _ client: AppleClient, _ question: DeviceCheck.Question
    ) throws -> DeviceCheck.Answer {
        var found: DeviceCheck.Answer?
        client.ask(
            question, deviceToken: "AAAA", teamID: Self.team, environment: .development
        ) { [loop] answer in
            found = answer
            loop.stop()
        }
        loop.run()
        return try #require(found)
    }

    @Test("asks each service of each environment at its own place")
    func places() throws {
        let server = try server(
            """
            location = /production/v1/attestationData { return 200 AAEC; }
            location = /development/v1/attestationData { return 304; }
            location = /development/v1/validate_device_token { return 200; }
            location = /development/v1/query_two_bits { return 200 "Bit State Not Found"; }
            location = /development/v1/update_two_bits { return 400 "Bad Device Token"; }
            """)
        let client = try client(server.port, keys: ["KEYA"])
        #expect(try renew(client) == .receipt([0, 1, 2]))
        #expect(try renew(client, .development) == .tooEarly)
        #expect(try ask(client, .validate) == .done)
        #expect(try ask(client, .query) == .neverSet)
        #expect(
            try ask(client, .update(bit0: true, bit1: false)) == .badToken("\"Bad Device Token\""))
        #expect(
            observer.answers == [
                "attestation_data production ok", "attestation_data development too_early",
                "validate_device_token development ok", "query_two_bits development never_set",
                "update_two_bits development bad_token",
            ])
        #expect(observer.refusals.isEmpty)
    }

    @Test("lets the next key sign in where one is refused, alarms, and then begins with that")
    func rotation() throws {
        let server = try server(
            """
            location / {
                if ($http_authorization ~ "^\(header("KEYA"))\\.") { return 401; }
                if ($http_authorization ~ "^\(header("KEYB"))\\.") { return 200 AAEC; }
                return 500;
            }
            """)
        let client = try client(server.port, keys: ["KEYA", "KEYB"])
        for _ in 0..<3 { #expect(try renew(client) == .receipt([0, 1, 2])) }
        #expect(observer.refusals == ["\(Self.team) KEYA unauthorized"])
        #expect(observer.answers.count == 3)
    }

    @Test("says so where every key is refused, or none is there")
    func noKey() throws {
        let server = try server("location / { return 403; }")
        let client = try client(server.port, keys: ["KEYA", "KEYB"])
        #expect(try renew(client) == .failed(.forbidden))
        #expect(observer.refusals.count == 2)
        #expect(try renew(client, team: "ZZZZZ99999") == .failed(.noKey(teamID: "ZZZZZ99999")))
        #expect(client.has(team: Self.team) && !client.has(team: "ZZZZZ99999"))
    }

    @Test("bounds each service by itself")
    func bounds() throws {
        let silent = try LoopbackListener { socket in
            while (try? socket.receive())?.isEmpty == false {}
        }
        defer { silent.stop() }
        let client = try client(silent.port, keys: ["KEYA"])
        var answers: [String] = []
        for _ in 0..<9 {
            client.renew(receipt: [1], teamID: Self.team, environment: .production) {
                answers.append($0.label)
            }
        }
        #expect(client.freeCountOfReceipts == 0 && client.freeCountOfDevices == 8)
        let call = client.ask(
            .query, deviceToken: "AAAA", teamID: Self.team, environment: .production
        ) { answers.append($0.label) }
        #expect(client.freeCountOfDevices == 7)
        call.cancel()
        #expect(client.freeCountOfDevices == 8)
        client.close()
        // The ninth is told later, as ever.
        let timer = Timer(loop: loop) { [loop] in loop.stop() }
        timer.schedule(after: .milliseconds(1))
        loop.run()
        #expect(
            answers.sorted() == ["too_many_in_flight"] + Array(repeating: "unreachable", count: 8))
    }
}
