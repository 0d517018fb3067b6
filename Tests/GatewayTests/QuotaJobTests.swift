import Attestation
import Bytes
import EventLoop
import GatewayTesting
import JSON
import KeyStore
import Policy
import SQLiteKeyStore
import Settings
import Testing

@testable import Gateway

/// Calls about counts, with a real audit log and a counter store that says what it is told to.
@Suite("Changes to counts of quotas")
struct QuotaJobTests {
    private static let author = AuditAuthor(
        way: .api, name: "ops", origin: "192.0.2.7", requestID: "r1")

    private let directory: ScratchDirectory
    private let gateway: GatewayUnderTest

    init() throws {
        directory = try ScratchDirectory()
        gateway = try GatewayUnderTest { settings in
            settings.quotas = [
                Quota(
                    name: "few", subject: .app, period: QuotaPeriod(.day), limit: 10,
                    measure: .requests)
            ]
        }
    }
}

extension QuotaJobTests {
    private var registryPath: String { directory.path(of: "audit.db") }

    private func registry() throws -> any RegistryAdministration {
        try SQLiteAdministration(path: registryPath, createsIfMissing: true)
    }

    /// The answer to a call, and the changes that the store was asked for.
    private func run(
        _ action: QuotaOrder.Action, _ verdicts: [QuotaVerdict],
        _ selection: QuotaSelection = .unknown, hasRegistry: Bool = true
    ) throws -> (answer: AdministrationAnswer, changes: [QuotaCharge.Change]) {
        let site = try Site(
            settings: gateway.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1)
        let path = registryPath
        let mailbox = try Mailbox<WorkerMessage>(countMax: 1)
        let job = AdministrationJob(
            call: .quota(QuotaOrder(quota: "few", action: action, selection: selection)),
            author: Self.author, site: site,
            access: AdministrationAccess(
                open: { _ in
                    guard hasRegistry else { throw StoreError("the disk is full") }
                    return try SQLiteAdministration(path: path, createsIfMissing: true)
                }, markRevoked: { _, _ in }),
            floors: gateway.hub.floors, charges: BlockingCharges(mailbox: mailbox),
            wallMilliseconds: 0)
        let loop = try EventLoop()
        var rest = verdicts[...]
        var changes: [QuotaCharge.Change] = []
        let receiver = mailbox.attach(to: loop) { message in
            guard case .charge(let charge, let replies) = message else { return }
            changes.append(charge.change)
            if let verdict = rest.popFirst() { _ = replies.post(verdict) }
        }
        var answer: AdministrationAnswer?
        let call = try BlockingCall(name: "job", loop: loop, job.run) { result in
            answer = result
            loop.stop()
        }
        withExtendedLifetime(call) { loop.run() }
        receiver.close()
        #expect(rest.isEmpty)
        return (try #require(answer), changes)
    }

    private func code(_ answer: AdministrationAnswer) throws -> String? {
        try JSONValue.parse(String(decoding: answer.body, as: UTF8.self))["code"]?.stringValue
    }

    /// The entries of the audit log, the newest first.
    private func entries() throws -> [String] {
        try registry().audit(AuditFilter()).map {
            "\($0.note.action) \($0.note.subject) \($0.note.outcome) \($0.note.detail)"
        }
    }

    @Test("a reset is the store's, which knows what is used by then")
    func reset() throws {
        let (answer, changes) = try run(.reset, [.granted(used: 7), .granted(used: 2)])
        #expect(changes == [.giveBack(0), .reset])
        let json = try JSONValue.parse(String(decoding: answer.body, as: UTF8.self))
        // Five more came meanwhile, of which two are left.
        #expect(json["used_before"] == .integer(7) && json["used"] == .integer(2))
        #expect(json["period"]?["end"]?.stringValue == "1970-01-02T00:00:00Z")
        #expect(try entries() == ["quota.reset few done unknown senders: 7 given back"])
        #expect(
            answer.event?.hasPrefix("ops from 192.0.2.7: quota.reset: few, 7 to count ") == true)
    }

    @Test("a reset takes a grant away that nothing has used")
    func resetGrant() throws {
        let (answer, changes) = try run(.reset, [.granted(used: -40), .granted(used: 0)])
        #expect(answer.status == 200 && changes == [.giveBack(0), .reset])
        #expect(try entries() == ["quota.reset few done unknown senders: -40 given back"])
    }

    @Test(
        "a store that cannot be read leaves no entry",
        arguments: [QuotaVerdict.unavailable, .unknown, .full])
    func unread(verdict: QuotaVerdict) throws {
        for action in [QuotaOrder.Action.show, .reset, .grant(5)] {
            let (answer, changes) = try run(action, [verdict])
            #expect(answer.status == 503 && answer.event == nil)
            #expect(try code(answer) == "counters_unavailable")
            #expect(changes == [.giveBack(0)])
        }
        #expect(try entries().isEmpty)
    }

    @Test(
        "a change that the store does not take leaves a second entry",
        arguments: [
            (.full, "failed", "counters_unavailable"),
            (.unavailable, "failed", "counters_unavailable"),
            (.unknown, "unconfirmed", "counters_unconfirmed"),
        ] as [(QuotaVerdict, String, String)])
    func untaken(verdict: QuotaVerdict, outcome: String, code: String) throws {
        let (answer, changes) = try run(.grant(5), [.granted(used: 7), verdict])
        #expect(changes == [.giveBack(0), .giveBack(5)])
        #expect(try answer.status == 503 && self.code(answer) == code)
        #expect(answer.failure != nil && answer.event?.contains(": \(outcome); ") == true)
        #expect(
            try entries()
                == [outcome, "done"].map {
                    "quota.grant few \($0) unknown senders: 5 given back"
                })
    }

    @Test("an app that is not configured has no count, and nothing is asked of the store")
    func unknownApp() throws {
        for action in [QuotaOrder.Action.show, .reset, .grant(5)] {
            let (answer, changes) = try run(action, [], .app("ABCDE12345.com.example.slip"))
            #expect(try answer.status == 404 && code(answer) == "app_unknown")
            #expect(answer.event == nil && changes.isEmpty)
        }
        #expect(try entries().isEmpty)
    }

    @Test("a change that the audit log cannot have is not made; a count is shown all the same")
    func withoutRegistry() throws {
        let (answer, changes) = try run(.grant(5), [.granted(used: 7)], hasRegistry: false)
        #expect(try answer.status == 503 && code(answer) == "store_unavailable")
        #expect(changes == [.giveBack(0)])
        let shown = try run(.show, [.granted(used: 7)], hasRegistry: false)
        #expect(shown.answer.status == 200)
    }
}
