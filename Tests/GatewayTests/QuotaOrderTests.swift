import Attestation
import Bytes
import EventLoop
import GatewayTesting
import JSON
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Operators' calls about quotas")
struct QuotaOrderTests {}

extension QuotaOrderTests {
    private static let keyID = KeyID(digest: Bytes32(word0: 1, word1: 2, word2: 3, word3: 4))

    private static func selection(_ query: String) throws -> QuotaSelection {
        let target = Array("/quotas/few\(query)".utf8)
        return try AdministrationQuery(of: target.span, allowing: AdministrationQuery.senderNames)
            .quotaSelection()
    }

    @Test("a query names one sender")
    func selections() throws {
        let url = Base64.encodeURL(Self.keyID.digest.array)
        #expect(try Self.selection("?key=\(url)") == .key(Self.keyID))
        #expect(try Self.selection("?user=J%C3%BCrgen%20B") == .user("J\u{FC}rgen B"))
        let mapped = Bytes16(word0: 0, word1: 0xFFFF_C000_0207)
        #expect(try Self.selection("?address=192.0.2.7") == .address(mapped))
        #expect(try Self.selection("?address=::ffff:192.0.2.7") == .address(mapped))
        #expect(
            try Self.selection("?address=2001:db8::1")
                == .address(Bytes16(word0: 0x2001_0DB8_0000_0000, word1: 1)))
        #expect(try Self.selection("?app=A.b") == .app("A.b"))
        let installation = InstallationID(firstKey: Self.keyID)
        #expect(
            try Self.selection("?installation=\(installation)") == .installation(installation))
        #expect(try Self.selection("?unknown=true") == .unknown)
    }

    @Test(
        "everything else is refused",
        arguments: [
            "", "?", "?key=", "?key=AAAA", "?user=", "?address=", "?address=192.0.2",
            "?address=192.0.2.7:80", "?address=[::1]", "?app=", "?installation=12",
            "?installation=0123456789abcdef0123456789abcdeg", "?unknown", "?unknown=false",
            "?user=a&app=b", "?user=a&user=b", "?user=a&unknown=true", "?name=a", "?user=%ff",
        ])
    func faults(query: String) {
        #expect(throws: AdministrationFault.self) { try Self.selection(query) }
    }

    @Test("a sender fits a quota that counts such senders; a key leads to its installation")
    func fits() {
        let selections: [QuotaSelection] = [
            .key(Self.keyID), .user("a"), .address(Bytes16(word0: 0, word1: 1)), .app("A.b"),
            .installation(InstallationID(firstKey: Self.keyID)), .unknown,
        ]
        let fitting: [Quota.Subject: [Bool]] = [
            .key: [true, false, false, false, false, true],
            .user: [true, true, false, false, false, true],
            .address: [false, false, true, false, false, true],
            .app: [false, false, false, true, false, true],
            .installation: [true, false, false, false, true, true],
        ]
        #expect(fitting.count == Quota.Subject.allCases.count)
        for (subject, expected) in fitting {
            #expect(selections.map { $0.fits(subject) } == expected, "\(subject)")
        }
    }

    @Test("a grant has an amount from 1 to the greatest sum, and no other member")
    func amounts() throws {
        func amount(_ text: String) throws -> Int {
            try QuotaBody.amount(try? JSONValue.parse(text))
        }
        #expect(try amount(#"{"amount":1}"#) == 1)
        #expect(try amount(#"{"amount":9007199254740991}"#) == QuotaSums.sumMax)
        for text in [
            "", "5", "[]", "{}", #"{"amount":0}"#, #"{"amount":-1}"#, #"{"amount":1.5}"#,
            #"{"amount":"5"}"#, #"{"amount":9007199254740992}"#, #"{"amount":5,"for":"a"}"#,
            #"{"Amount":5}"#,
        ] {
            #expect(throws: AdministrationFault.self, "\(text)") { try amount(text) }
        }
    }

    @Test("paths name a quota, and what is done to a count")
    func paths() {
        typealias Resource = AdministrationResource
        #expect(Resource(path: "/quotas") == .quotas)
        #expect(Resource(path: "/quotas/few") == .quota("few"))
        #expect(Resource(path: "/quotas/reset") == .quota("reset"))
        #expect(Resource(path: "/quotas/reset/reset") == .quotaReset("reset"))
        #expect(Resource(path: "/quotas/few/grant") == .quotaGrant("few"))
        for path in [
            "/quotas/", "/quotas//reset", "/quotas/few/", "/quotas/few/take", "/quotas/a/b/reset",
            "quotas/few", "/quota/few", "/x/quotas/few",
        ] { #expect(Resource(path: path) == nil, "\(path)") }
        #expect(Resource.quotaReset("few").allowedMethods == "POST")
        #expect(Resource.quotaGrant("few").allowedMethods == "POST")
        #expect(Resource.quota("few").allowedMethods == "GET, HEAD")
    }

    @Test("addresses of one network have one count, in each period another")
    func subjects() throws {
        let gateway = try GatewayUnderTest()
        let site = try Site(
            settings: gateway.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1)
        let quota = Quota(
            name: "few", subject: .address, period: QuotaPeriod(.hour), limit: 1,
            measure: .requests)
        func count(_ word0: UInt64, _ word1: UInt64, at milliseconds: Int64 = 0) -> QuotaCount {
            quota.count(
                of: site.quotaSubject(ofAddress: Bytes16(word0: word0, word1: word1)),
                around: milliseconds)
        }
        #expect(count(7, 1) == count(7, 2))
        #expect(count(7, 1) != count(8, 1))
        #expect(count(0, 0xFFFF_0000_0001) != count(0, 0xFFFF_0000_0002))
        #expect(count(7, 1, at: 3_599_999) == count(7, 1))
        #expect(count(7, 1, at: 3_600_000).name == count(7, 1).name)
        #expect(count(7, 1, at: 3_600_000) != count(7, 1))
        #expect(count(7, 1).period == 0..<3_600_000)
    }

    @Test("a charge that reaches no worker was not made")
    func unreached() throws {
        let count = QuotaCount(name: Bytes16(word0: 1, word1: 2), period: 0..<1000)
        let mailbox = try Mailbox<WorkerMessage>(countMax: 1)
        #expect(mailbox.post(.drain))
        let charges = BlockingCharges(mailbox: mailbox)
        #expect(charges.make(QuotaCharge(.giveBack(1), of: count, limit: 1)) == .unavailable)
    }
}
