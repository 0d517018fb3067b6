import Foundation
import GatewayTesting
import JSON
import Testing

/// Clients that do one thing wrong each, and what their score cards say: if one had full marks, the
/// trial could be passed without that behaviour.
@Suite(
    "A naive client on trial", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct NaiveClientTests {}

extension NaiveClientTests {
    private static let patience = Duration.seconds(1200)

    /// The mistakes of one act. `client`: as clients/python/naive_clients.py names it.
    private struct Row {
        let act: String
        let client: String
        let lines: [String]

        init(_ act: String, _ client: String, _ lines: String...) {
            (self.act, self.client, self.lines) = (act, client, lines)
        }
    }

    private static let twice = "sent 2 times, at most 1"
    private static let unproved = "sent what the gateway itself refuses: it has no assertion"
    private static let early = "sent again after N ms, not before 1000"
    private static let givenUp = "given up although it would have been served"
    private static let otherChallenge = "signed another challenge than the last answer's"
    private static let ticketless = "enrolled a key without the newest ticket"

    private static let table = [
        Row("enrolment_unavailable", "does not wait to enrol", early),
        Row(
            "enrolment_lost", "makes a key for a lost answer",
            "2 attestations in place of the same one again", "1 new keys in place of 0"),
        Row("first_request", "tries without a proof first", twice, unproved),
        Row("next_request", "ignores challenges of answers", otherChallenge),
        Row("challenge_expired", "ignores challenges of refusals", otherChallenge),
        Row("refused_again", "signs again for ever", "sent 6 times, at most 3"),
        Row("answer_lost", "repeats after a lost answer", twice),
        Row("answer_lost", "repeats the bytes", twice, "sent the same assertion twice"),
        Row("answer_cut", "repeats after a cut answer", twice),
        Row("upstream_failed", "repeats after upstream_failed", twice),
        Row("foreign_page", "repeats after a page", twice),
        Row("rate_limited", "does not wait for a limit", early),
        Row("rate_limited", "gives up at a limit", givenUp),
        Row("store_unavailable", "does not wait for a store", early),
        Row(
            "retry_policy", "ignores what an answer says about retries",
            "sent 3 times, at most 2", "sent again after N ms, not before 2000"),
        Row("update_advised", "takes advice for a refusal", twice),
        Row("update_demanded", "repeats though too old", twice),
        Row("refused_for_good", "repeats though refused for good", twice),
        Row("unknown_action", "repeats what it does not understand", twice),
        Row("redirected", "follows redirections", "followed a redirection with an assertion"),
        Row("clock_off", "believes the server's clock", twice),
        Row("restarted", "saves nothing", "1 new keys in place of 0"),
        Row("key_unknown", "keeps an unknown key", givenUp, "0 new keys in place of 1"),
        Row("key_unknown", "loses the ticket with the key", ticketless),
        Row(
            "key_unknown_again", "makes a key for each refusal", "sent 3 times, at most 1",
            "2 new keys in place of 0"),
        Row("reinstalled", "loses the ticket", ticketless),
        Row("last_request", "enrols at each start", "1 new keys in place of 0"),
        // These behave in no act that is about what they leave out.
        Row("challenge_expired", "never signs again", givenUp),
        Row("refused_again", "never signs again", "sent 1 times, at least 2"),
        Row("rate_limited", "never signs again", givenUp),
        Row("store_unavailable", "never signs again", givenUp),
        Row("key_unknown", "never signs again", givenUp, "0 new keys in place of 1"),
        Row(
            "", "tells its ticket", "sent its ticket with another request than an enrolment"),
    ]

    private static let androidTable = [
        Row("enrolment_expired", "sends an expired chain again", "0 new keys in place of 1"),
        Row("", "repeats the bytes", "signed one challenge twice"),
    ]

    /// The mistakes of a card by act, and under "" those of no single act.
    private func mistakes(_ card: JSONValue) -> [String: [String]] {
        var found = ["": lines(card)]
        for act in card["acts"]?.arrayValue ?? [] {
            let isReached = act["reached"]?.boolValue == true
            found[act["name"]?.stringValue ?? "?"] = isReached ? lines(act) : ["not reached"]
        }
        return found.filter { !$0.value.isEmpty }
    }

    private func lines(_ object: JSONValue) -> [String] {
        let lines = object["mistakes"]?.arrayValue?.compactMap(\.stringValue) ?? []
        return lines.map { $0.replacing(#/after \d+ ms/#, with: "after N ms") }
    }

    @Test(
        "fails the act that is about its mistake, and no other",
        arguments: PlatformSite.Platform.allCases)
    func naive(platform: PlatformSite.Platform) throws {
        let place = try PlatformSite(platform)
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [
                Repository.path(of: "clients/python/naive_clients.py"), place.device[0],
                "127.0.0.1:\(place.site.gateway.port)",
            ] + place.device.dropFirst(), environment: ["PYTHONDONTWRITEBYTECODE": "1"],
            within: Self.patience)
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        let text = Array(outcome.standardOutput.utf8)
        let cards = try #require(
            try JSONValue.parse(text.span, byteCountMax: 1 << 22).objectValue)
        let rows = Self.table + (platform == .android ? Self.androidTable : [])
        for client in Set(rows.map(\.client)) {
            let card = try #require(cards[client], "\(client)")
            let expected = rows.filter { $0.client == client }.map { ($0.act, $0.lines) }
            #expect(mistakes(card) == Dictionary(uniqueKeysWithValues: expected), "\(client)")
        }
        let dishonest = try ["signs nothing", "sends nothing"].map { client in
            mistakes(try #require(cards[client]))
        }
        let acts = try #require(cards["signs nothing"]?["acts"]?.arrayValue).compactMap {
            $0["name"]?.stringValue
        }
        #expect(Set(acts).isSubset(of: rows.map(\.act)))
        for act in acts where !act.hasPrefix("enrolment") {
            #expect(dishonest[0][act]?.contains(Self.unproved) == true, "\(act): \(dishonest[0])")
            #expect(dishonest[1][act] == ["not reached"], "\(act)")
        }
    }

    @Test("is told what to change, by sections that there are")
    func advice() throws {
        for platform in PlatformSite.Platform.allCases {
            let list = try ChildProcess.run(
                BuiltProgram.lab, ["trial", "--list", "--platform", platform.rawValue])
            let sections = list.standardOutput.matches(of: #/see (\S+)#(\S+)/#)
            #expect(sections.count > 40)
            for section in Set(sections.map { "\($0.output.1)#\($0.output.2)" }) {
                try expectSection(section)
            }
        }
        // Those that belong to no rule of an act, too.
        let source = try Repository.text(of: "Sources/sallyport-lab/Trial/TrialRule.swift")
        let sections = source.matches(of: #/"(\w+\.md#[\w-]+)"/#).map(\.output.1)
        #expect(Set(sections).count > 6)
        for section in sections { try expectSection("docs/client/" + section) }
    }

    private func expectSection(_ section: String) throws {
        let parts = section.split(separator: "#")
        let page = try Repository.text(of: String(parts[0]))
        let anchors = page.matches(of: #/(?m)^#+ (.+)$/#).map {
            $0.output.1.lowercased().replacing(" ", with: "-").replacing(#/[^\w-]/#, with: "")
        }
        #expect(anchors.contains(String(parts[1])), "\(section)")
    }

    @Test("is played the acts in an order that the seed determines")
    func order() throws {
        let place = try PlatformSite(.apple)
        func order(_ seed: Int) throws -> [String] {
            let card = try ChildProcess.run(
                BuiltProgram.lab,
                [
                    "trial", "--gateway", "127.0.0.1:\(place.site.gateway.port)", "--seconds",
                    "0", "--json", "--seed", "\(seed)",
                ])
            let line = try #require(card.standardOutput.split(separator: "\n").last)
            return try #require(try JSONValue.parse(String(line))["acts"]?.arrayValue).compactMap {
                $0["name"]?.stringValue
            }
        }
        #expect(try order(1) == order(1))
        #expect(try order(1) != order(2))
        #expect(try order(1).sorted() == order(2).sorted())
    }
}
