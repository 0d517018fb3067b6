import AppAttest
import AppAttestTesting
import Attestation
import Background
import Bytes
import Crypto
import KeyStore
import Settings
import Testing

@Suite("When receipts are due")
struct ReceiptScheduleTests {}

extension ReceiptScheduleTests {
    private static let day: Int64 = 86_400
    static let createdAt: Int64 = 1_800_000_000

    private static func schedule(
        _ change: (inout ReceiptSettings) -> Void = { _ in }
    ) -> ReceiptSchedule {
        var settings = ReceiptSettings()
        change(&settings)
        return ReceiptSchedule(settings)
    }

    static func fields(
        _ kind: ReceiptFields.Kind = .receipt, createdAt: Int64 = createdAt, metric: UInt32? = 7
    ) throws -> ReceiptFields {
        let key = try P256PrivateKey(scalar: Bytes32(word0: 1, word1: 2, word2: 3, word3: 4))
        let receipt = SimulatedReceipt(
            kind: kind, appID: "ABCDE12345.a", attestedKey: key.publicKey.x963, clientHash: [],
            environment: .production, createdAt: createdAt,
            riskMetric: kind == .receipt ? metric : nil)
        return try ReceiptFields(content: receipt.content.span)
    }

    static func keyID(_ number: UInt64) -> KeyID {
        KeyID(
            digest: Bytes32(
                word0: number &* 0x9E37_79B9_7F4A_7C15, word1: 0,
                word2: number &* 0xBF58_476D_1CE4_E5B9, word3: number))
    }

    static func due(
        _ number: UInt64 = 1, dueAt: Int64 = createdAt, failureCount: UInt32 = 0,
        team: String = "ABCDE12345", expiresAt: Int64? = nil
    ) -> DueReceipt {
        let state = ReceiptState(
            kind: .receipt, createdAt: dueAt - day, notBefore: dueAt, expiresAt: expiresAt,
            dueAt: dueAt, failureCount: failureCount)
        return DueReceipt(
            keyID: keyID(number), publicKey: P256PublicKey(x: .zero, y: .zero),
            group: ReceiptGroup(appID: team + ".a", environment: .production), receipt: [1],
            state: state, dueAt: dueAt, riskMetric: 3)
    }

    @Test("one of an attestation at once, one of Apple's at its not before and not much later")
    func first() throws {
        let attest = try Self.fields(.attest)
        #expect(Self.schedule().dueAt(attest.dates, of: Self.keyID(1)) == Self.createdAt)
        let receipt = try Self.fields()
        let dues = (0..<1000).map { Self.schedule().dueAt(receipt.dates, of: Self.keyID($0)) }
        let earliest = Self.createdAt + Self.day
        #expect(dues.allSatisfy { (earliest..<earliest + 6 * 3600).contains($0) })
        // Spread over all of the six hours.
        for hour in 0..<6 {
            let range = earliest + Int64(hour) * 3600..<earliest + Int64(hour + 1) * 3600
            #expect(dues.count { range.contains($0) } > 100)
        }
        // Whoever reckons comes to the same.
        #expect(
            dues == (0..<1000).map { Self.schedule().dueAt(receipt.dates, of: Self.keyID($0)) })
    }

    @Test("an interval holds from the creation, and nothing is planned for later than 29 days")
    func interval() throws {
        let receipt = try Self.fields()
        let late = Self.schedule { $0.interval = .seconds(28 * Self.day) }
        let later = Self.schedule {
            $0.interval = .seconds(28 * Self.day)
            $0.jitter = .seconds(7 * Self.day)
        }
        for number in 0..<100 as Range<UInt64> {
            let due = late.dueAt(receipt.dates, of: Self.keyID(number)) - Self.createdAt
            #expect(due >= 28 * Self.day && due < 28 * Self.day + 6 * 3600)
            #expect(
                later.dueAt(receipt.dates, of: Self.keyID(number)) <= Self.createdAt + 29 * Self.day
            )
        }
        // One that is old when it comes is not asked for again at once.
        let now = Self.createdAt + 40 * Self.day
        #expect(
            Self.schedule().dueAt(receipt.dates, of: Self.keyID(1), renewedAt: now) == now + 3600)
    }

    @Test("each answer leaves what it should, and a time for the next attempt")
    func answers() throws {
        let now = Self.createdAt + 50
        func write(_ result: RenewalResult, failureCount: UInt32 = 0) -> RenewalWrite? {
            Self.schedule().write(result, of: Self.due(failureCount: failureCount), at: now)
        }
        for result in [RenewalResult.unauthorized, .throttled(retryAfter: nil)] {
            #expect(write(result) == nil)
        }
        for result in [RenewalResult.badPayload, .wrongEnvironment, .expired] {
            let write = try #require(write(result))
            #expect(write.state.dueAt == nil && write.state.lastOutcome == result.outcome)
            #expect(write.receipt == nil && write.riskMetric == nil && !write.isNews)
        }
        let notFound = try #require(write(.notFound)?.state)
        let week = 7 * Self.day
        #expect((now + week..<now + week * 3 / 2).contains(notFound.dueAt ?? 0))
        #expect(notFound.failureCount == 1 && notFound.attemptedAt == now)
        for result in [
            RenewalResult.invalid("x"), .serverError(retryAfter: .seconds(9)),
            .unreachable("down"), .unexpected,
        ] {
            let first = try #require(write(result)?.state.dueAt)
            #expect((now + 3600..<now + 5400).contains(first))
            let fourth = try #require(write(result, failureCount: 3)?.state)
            #expect((now + 8 * 3600..<now + 12 * 3600).contains(fourth.dueAt ?? 0))
            #expect(fourth.failureCount == 4)
            let last = try #require(write(result, failureCount: .max - 1)?.state.dueAt)
            #expect(last <= now + 45 * Self.day)
        }
        let early = try #require(write(.tooEarly, failureCount: 3)?.state)
        #expect((now + Self.day..<now + Self.day + 6 * 3600).contains(early.dueAt ?? 0))
        #expect(early.failureCount == 0)
    }

    @Test("a new receipt takes the place of the old one, and only a new metric is news")
    func renewed() throws {
        let now = Self.createdAt + 50
        for (metric, isNews) in [(3, false), (7, true), (nil, false)] as [(UInt32?, Bool)] {
            let fields = try Self.fields(createdAt: now, metric: metric)
            let write = try #require(
                Self.schedule().write(
                    .renewed([9], fields), of: Self.due(failureCount: 2), at: now))
            #expect(write.receipt == [9] && write.riskMetric == metric)
            #expect(write.isNews == isNews)
            #expect(write.dueAt == Self.createdAt)
            #expect(write.state.createdAt == now && write.state.lastOutcome == .renewed)
            #expect(write.state.failureCount == 0 && write.state.attemptedAt == now)
            #expect(write.state.dueAt ?? 0 >= now + Self.day)
        }
    }
}
