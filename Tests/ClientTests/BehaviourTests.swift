import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

/// An event of a case: what the app does, and how device and gateway answer meanwhile.
struct BehaviourEvent: Decodable, Sendable {
    enum Call: String, Decodable { case send, enrol, reset, wait }

    /// An answer to a request: a status with its parts, or none at all.
    enum Answer: Decodable, Sendable {
        case lost
        case response(Parts)

        struct Parts: Decodable, Sendable {
            let status: Int
            let code: String?
            let action: String?
            let assertion: String?
            let retry: [String: Double]?
            let retryAfter: Int?
            /// The code of a refusal that has no document.
            let header: String?
            /// False if the answer brings no challenge.
            let challenge: Bool?
        }

        init(from decoder: any Decoder) throws {
            let single = try decoder.singleValueContainer()
            let isLost = (try? single.decode(String.self)) == "lost"
            self = isLost ? .lost : .response(try single.decode(Parts.self))
        }
    }

    let call: Call
    let seconds: Double?
    let method: String?
    let proof: String?
    let device: [String: [String]]?
    let gateway: [String: [Answer]]?
}

/// A row of `docs/client/behaviour-cases.json`.
struct BehaviourCase: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let platform: String?
    let supported: Bool?
    let given: [BehaviourEvent]
    let state: String
    let event: BehaviourEvent
    let nextState: String
    let actions: [String]
    let result: String

    var testDescription: String { name }

    private struct Document: Decodable { let cases: [BehaviourCase] }

    /// The cases of Apple's platforms; none if the file cannot be read.
    static let all: [BehaviourCase] = {
        let text = try? Repository.text(of: "docs/client/behaviour-cases.json")
        let document = try? JSONDecoder().decode(Document.self, from: Data((text ?? "").utf8))
        return (document?.cases ?? []).filter { $0.platform != "android" }
    }()
}

@Suite("The behaviour of every client", .timeLimit(.minutes(30)))
struct BehaviourTests {}

extension BehaviourTests {
    @Test("is what the client in Swift does", arguments: BehaviourCase.all)
    func swift(_ row: BehaviourCase) async throws {
        let world = BehaviourWorld(isSupported: row.supported ?? true)
        let client = try world.client()
        for event in row.given { _ = try await outcome(of: event, client, world) }
        #expect(try world.state() == row.state)
        world.clear()
        #expect(try await outcome(of: row.event, client, world) == row.result)
        #expect(world.actions == row.actions)
        #expect(try world.state() == row.nextState)
    }

    @Test("has cases of each kind")
    func count() { #expect(BehaviourCase.all.count > 50) }

    /// Carries an event out, and says how it ended.
    private func outcome(
        of event: BehaviourEvent, _ client: AppAttestClient, _ world: BehaviourWorld
    ) async throws -> String {
        world.prepare(event)
        do {
            switch event.call {
            case .wait: world.advance(try #require(event.seconds))
            case .enrol: try await client.enrol()
            case .reset: try await client.reset()
            case .send:
                var request = URLRequest(url: try world.url("/api/x"))
                request.httpMethod = event.method ?? "GET"
                let (_, response) = try await client.send(
                    request, proof: event.proof == "token" ? .sessionToken : .assertion)
                return response.statusCode == 200 ? "ok" : "answer \(response.statusCode)"
            }
            return "ok"
        } catch ClientError.refused(let refusal) {
            return "refused \(refusal.code)"
        } catch ClientError.tryLater {
            return "tryLater"
        } catch ClientError.unsupported {
            return "unsupported"
        } catch is URLError {
            return "network"
        }
    }
}
