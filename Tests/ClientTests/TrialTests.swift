import AppAttestTesting
import Bytes
import Foundation
import FoundationNetworking
import GatewayTesting
import JSON
import SallyportClient
import Testing

@Suite(
    "A client on trial", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)), .fewAtOnce)
struct TrialTests {
    private let site: ClientSite
    private let directory: ScratchDirectory

    init() throws {
        site = try ClientSite()
        directory = try ScratchDirectory()
    }
}

extension TrialTests {
    private func trial(_ words: [String] = []) throws -> (ChildProcess, port: Int) {
        let gateway = "127.0.0.1:\(site.gateway.port)"
        let process = try ChildProcess(
            BuiltProgram.lab, ["trial", "--gateway", gateway, "--seconds", "900", "--json"] + words)
        let line = try process.waitForLine(on: .standardOutput) { $0.contains("port") }
        let port = try #require(try JSONValue.parse(line)["port"])
        guard case .integer(let number) = port else { throw URLError(.badURL) }
        return (process, Int(number))
    }

    /// The names of acts with a mistake or not reached, and the mistakes of all.
    private func card(_ process: ChildProcess) throws -> (ended: Bool, wrong: [String]) {
        let status = try process.waitForExit(within: .seconds(1000))
        let line = try #require(process.lines(on: .standardOutput).last)
        let card = try JSONValue.parse(line)
        guard case .array(let acts)? = card["acts"], case .array(let overall)? = card["mistakes"]
        else { throw URLError(.cannotParseResponse) }
        let wrong = acts.filter { $0["mistakes"] != .array([]) || $0["reached"] != .bool(true) }
            .compactMap { act -> String? in
                guard case .array(let mistakes)? = act["mistakes"] else { return nil }
                let words = mistakes.compactMap(\.stringValue).joined(separator: "; ")
                return (act["name"]?.stringValue ?? "") + ": " + words
            }
        return (status == .exited(0), wrong + overall.compactMap(\.stringValue))
    }

    private func post(_ number: Int, _ gateway: URL) -> URLRequest {
        var request = URLRequest(url: gateway.appendingPathComponent("api/trial"))
        request.httpMethod = "POST"
        request.httpBody = Data("{\"n\":\(number)}".utf8)
        return request
    }

    @Test("the one in Swift makes no mistake")
    func swift() async throws {
        let (process, port) = try trial()
        let gateway = try #require(URL(string: "http://127.0.0.1:\(port)"))
        var store = MemoryStore()
        func app() -> AppAttestClient {
            AppAttestClient(
                Configuration(gateway: gateway), store: store,
                tickets: KeychainTicketStore(
                    gateway: gateway, bundleIdentifier: "com.example.trial"),
                service: site.service, transport: FreshTransport())
        }
        var client = app()
        trial: for number in 0..<200 {
            do {
                let (_, response) = try await client.send(post(number, gateway))
                switch response.value(forHTTPHeaderField: "X-Trial") {
                case "over": break trial
                case "restart": client = app()
                case "reinstall":
                    store = MemoryStore()
                    site.service.loseKeys()
                    client = app()
                default: break
                }
            } catch ClientError.tryLater(let date) {
                // The client's own clock says when.
                try await Task.sleep(for: .seconds(max(0, date.timeIntervalSinceNow)))
            } catch {}
        }
        let result = try card(process)
        #expect(result.ended)
        #expect(result.wrong.isEmpty, "\(result.wrong)")
    }

    @Test("the one in Python makes no mistake, over TLS")
    func python() throws {
        let certificate = try TestCertificate(in: directory, "trial")
        let (process, port) = try trial([
            "--certificate", certificate.certificatePath, "--key", certificate.keyPath,
        ])
        var state = JSONWriter()
        state.element(try TestApple.shared.state())
        let text = state.finish()
        let apple = try directory.write(text.readable.array, to: "apple.json")
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [
                Repository.path(of: "clients/python/trial.py"), "\(port)", BuiltProgram.lab,
                directory.path(of: "device"), apple, GatewayConfiguration.appID,
                certificate.certificatePath,
            ], within: .seconds(1000))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let result = try card(process)
        #expect(result.ended)
        #expect(result.wrong.isEmpty, "\(result.wrong)")
    }

    /// A device that fails once at each step that it is told, and a network that loses a request.
    private static let troubles = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import sallyport_client, trial

        class Device(trial.LabDevice):
            failures = {}
            def attest_key(self, *words):
                self.fail("attest")
                return super().attest_key(*words)
            def generate_assertion(self, *words):
                self.fail("assert")
                return super().generate_assertion(*words)
            def fail(self, step):
                code = self.failures.pop(step, None)
                if code: raise sallyport_client.DeviceError(code)

        def send(client, expected):
            try:
                found = str(client.send("GET", "/api/x").status)
            except Exception as error:
                found = type(error).__name__
            assert found == expected, found

        def lossy(*words):
            sent.append(words)
            if lost and words[1] == "/api/x": raise lost.pop()
            return transport(*words)

        transport = sallyport_client.http_transport(f"http://127.0.0.1:{sys.argv[2]}")
        now, lost, sent = [1e9], [], []
        about = None if sys.argv[7] == "silent" else {
            "os": "27.1", "app": sys.argv[6], "version": "4 10"}
        client = sallyport_client.Client(
            lossy, Device(*sys.argv[3:7]), now=lambda: now[0], about=about)
        Device.failures = {"attest": "server_unavailable"}
        send(client, "DeviceError")
        told = [words[1] for words in sent].count("/attest/failure")
        assert told == (about is not None), sent
        send(client, "TryLater")
        now[0] += 10
        send(client, "200")
        Device.failures = {"assert": "invalid_key"}
        send(client, "200")
        lost.append(ConnectionResetError())
        send(client, "ConnectionResetError")
        send(client, "200")
        send(client, "200")
        """

    @Test(
        "the one in Python tells what fails, once, unless it is not to", arguments: [true, false])
    func reports(isTold: Bool) throws {
        var state = JSONWriter()
        state.element(try TestApple.shared.state())
        let text = state.finish()
        let apple = try directory.write(text.readable.array, to: "apple.json")
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [
                "-c", Self.troubles, Repository.path(of: "clients/python"), "\(site.gateway.port)",
                BuiltProgram.lab, directory.path(of: "device"), apple, GatewayConfiguration.appID,
                isTold ? "tells" : "silent",
            ])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let page = try site.gateway.admin("/metrics").bodyText
        let told = page.split(separator: "\n").filter {
            $0.hasPrefix("sallyport_client_failures_total{")
        }
        let expected = [
            "phase=\"assert\",code=\"invalidKey\"", "phase=\"attest\",code=\"serverUnavailable\"",
            "phase=\"request\",code=\"connectionLost\"",
        ].map { "sallyport_client_failures_total{\($0),os=\"27.1\"} 1" }
        #expect(told.map(String.init).sorted() == (isTold ? expected : []))
        let app =
            "{app=\"\(GatewayConfiguration.appID)\",platform=\"apple\",version=\"unknown\","
            + "code=\"invalidKey\"}"
        #expect(page.contains(app) == isTold)
    }

    @Test("one that repeats blindly, hammers and makes keys is found out")
    func careless() async throws {
        let (process, port) = try trial()
        let gateway = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let client = CarelessClient(gateway: gateway, service: site.service)
        for number in 0..<100 where try await client.send(post(number, gateway)) { break }
        let result = try card(process)
        #expect(!result.ended)
        for name in [
            "enrolment_lost", "next_request", "challenge_expired", "refused_again", "answer_lost",
            "rate_limited", "refused_for_good", "key_unknown_again",
        ] {
            #expect(result.wrong.contains { $0.hasPrefix(name) }, "\(name): \(result.wrong)")
        }
    }
}
