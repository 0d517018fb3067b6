import EventLoop
import GatewayTesting
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Quotas on the status page")
struct QuotaStatusTests {}

extension QuotaStatusTests {
    private static func gateway() throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            settings.quotas = [
                Quota(
                    name: "few", subject: .address, period: QuotaPeriod(.month), limit: 2,
                    measure: .requests)
            ]
            let index = settings.routes.firstIndex { $0.name == "open" }
            if let index { settings.routes[index].quotas = ["few"] }
        }
    }

    private static func site(_ gateway: GatewayUnderTest) throws -> Site {
        try Site(
            settings: gateway.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1, rollouts: gateway.rollouts)
    }

    @Test("have their limit, and what was charged and refused")
    func table() throws {
        let gateway = try Self.gateway()
        let client = try gateway.client()
        let statuses = try (0..<5).map { _ in try client.exchange("GET", "/x").status }
        #expect(statuses == [200, 200, 429, 429, 429])
        gateway.stop()
        let document = StatusDocument(gateway.hub, site: try Self.site(gateway))
        let json = try JSONValue.parse(String(decoding: document.json(nil), as: UTF8.self))
        let quota = try #require(json["quotas"]?.arrayValue?.first)
        #expect(quota["quota"]?.stringValue == "few" && quota["by"]?.stringValue == "address")
        for counts in [quota, try #require(quota["last_hour"])] {
            #expect(counts["charged"]?.integerValue == 2)
            #expect(counts["refused"]?.integerValue == 3)
            #expect(counts["numbers_missing"]?.integerValue == 0)
            #expect(counts["uncounted"]?.integerValue == 0)
        }
        let page = String(decoding: StatusPage.html(document), as: UTF8.self)
        #expect(page.contains("<h2>Quotas in the last hour</h2>"))
        #expect(
            page.contains(
                "<td>few</td><td>2 requests per month, by address</td><td>2</td><td>3</td>"
                    + "<td>0</td><td>0</td>"))
    }

    @Test("that are not counted, or that answers have no number for, are problems")
    func problems() throws {
        let gateway = try Self.gateway()
        let site = try Self.site(gateway)
        typealias Column = StatusHistory.QuotaColumn
        func problems(_ counts: [Column: UInt64]) -> [StatusProblem] {
            var history = StatusHistory(startedAt: .now())
            history.quotas.take(
                "few", Column.allCases.map { counts[$0] ?? 0 }, at: history.minute)
            return StatusVerdict(
                StatusInspection(hub: gateway.hub, site: site, now: 0, history: history).problems
            ).problems
        }
        #expect(problems([.charged: 90, .exhausted: 90]).map(\.name) == [.extraRoots])
        // Too few, and too small a share.
        #expect(problems([.missing: 49]).map(\.name) == [.extraRoots])
        #expect(problems([.missing: 20, .numbered: 80]).map(\.name) == [.extraRoots])
        let missing = problems([.missing: 21, .numbered: 79])
        #expect(missing.map(\.name) == [.quotaNumbersMissing, .extraRoots])
        #expect(missing[0].text.hasPrefix("21 of 100 answers had no number for the quota few"))
        let uncounted = problems([.unavailable: 1])
        #expect(uncounted.map(\.name) == [.quotasUncounted, .extraRoots])
        #expect(uncounted[0].text.contains("Charges to few failed"))
        gateway.hub.counters.quotas?.fileState.writingEnded(.init("the disk is full"))
        let unkept = problems([:])
        #expect(unkept.map(\.name) == [.quotasUncounted, .extraRoots])
        #expect(unkept[0].text.hasSuffix("the disk is full."))
    }
}
