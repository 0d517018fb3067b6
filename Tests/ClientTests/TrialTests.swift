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
    .timeLimit(.minutes(30)))
struct TrialTests {
    private static let root =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/"

    private let site: ClientSite
    private let directory: ScratchDirectory

    init() throws {
        site = try ClientSite()
        directory = try ScratchDirectory()
    }

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
        let client = AppAttestClient(
            Configuration(gateway: gateway), store: MemoryStore(), service: site.service,
            transport: FreshTransport())
        for number in 0..<200 {
            do {
                let (_, response) = try await client.send(post(number, gateway))
                if response.value(forHTTPHeaderField: "X-Trial") == "over" { break }
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
            "python3",
            [
                Self.root + "clients/python/trial.py", "\(port)", BuiltProgram.lab,
                directory.path(of: "device"), apple, GatewayConfiguration.appID,
                certificate.certificatePath,
            ], within: .seconds(1000))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let result = try card(process)
        #expect(result.ended)
        #expect(result.wrong.isEmpty, "\(result.wrong)")
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
