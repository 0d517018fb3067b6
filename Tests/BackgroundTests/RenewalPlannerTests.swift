import Attestation
import Background
import EventLoop
import KeyStore
import Settings
import Testing

/// Events in, actions out: no store, no network, no time but what a test says.
@Suite("The renewal of receipts")
struct RenewalPlannerTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private static let group = ReceiptGroup(appID: "ABCDE12345.a", environment: .production)
    private static let other = ReceiptGroup(appID: "FGHIJ12345.a", environment: .production)
    private static let seconds = ReceiptScheduleTests.createdAt

    private var planner: RenewalPlanner
    private var now = RenewalPlanner.Moment(instant: start, seconds: seconds)

    init() {
        var backOff = BackOff()
        backOff.shortest = .seconds(10)
        backOff.longest = .seconds(60)
        planner = RenewalPlanner(
            RenewalPlanner.Rules(
                schedule: ReceiptSchedule(ReceiptSettings()), spacing: 1_000_000_000,
                inFlightCountMax: 3, backOff: backOff, unauthorizedPause: .seconds(600),
                groups: [Self.group, Self.other]),
            holder: [1])
    }
}

extension RenewalPlannerTests {
    private mutating func pass(_ duration: Duration) {
        now.instant = now.instant + duration
        now.seconds += duration.components.seconds
    }

    /// Takes the lease, and what is asked then: pages for both groups, and how many are due.
    private mutating func takeLease() throws {
        guard case .writeLease(let write)? = planner.next(at: now) else {
            throw StoreError("no lease is asked for")
        }
        let entry = SharedEntry(
            name: "receipts", value: write.value, version: 1, term: 4, expiresAt: .max)
        planner.leaseAnswered(
            .success(
                SharedOutcome(isWritten: true, reading: SharedReading(entry: entry, now: 0))),
            at: now.instant)
        guard case .countBacklog? = planner.next(at: now) else {
            throw StoreError("nobody counts")
        }
        planner.counted(.success(ReceiptBacklog(dueCount: 9, firstDueAt: 5)))
    }

    private mutating func read(_ found: [DueReceipt]) throws {
        var action = planner.next(at: now)
        if case .countBacklog? = action {
            planner.counted(.success(ReceiptBacklog()))
            action = planner.next(at: now)
        }
        guard case .readDue(let queries)? = action else {
            throw StoreError("nothing is read")
        }
        #expect(queries.allSatisfy { $0.dueBy == now.seconds && $0.countMax >= 60 })
        planner.dueRead(.success(found), at: now.instant)
    }

    /// What is sent now; lets nothing else pass.
    private mutating func sent() -> KeyID? {
        guard case .send(let due)? = planner.next(at: now) else { return nil }
        return due.keyID
    }

    private mutating func answer(_ result: RenewalResult, _ number: UInt64) -> Duration? {
        planner.answered(
            result, of: ReceiptScheduleTests.keyID(number), at: now, jitter: 1)
    }

    /// What was written stands, in the term of before.
    private mutating func answerLease(_ write: SharedWrite) {
        let life = Int64((write.lifetime ?? .zero) / .milliseconds(1))
        let entry = SharedEntry(
            name: "receipts", value: write.value, version: 2, term: 4, expiresAt: life)
        planner.leaseAnswered(
            .success(
                SharedOutcome(isWritten: true, reading: SharedReading(entry: entry, now: 0))),
            at: now.instant)
    }

    private mutating func hasNothing() -> Bool { planner.next(at: now) == nil }

    private func due(_ numbers: ClosedRange<UInt64>, team: String = "ABCDE12345") -> [DueReceipt] {
        numbers.map { ReceiptScheduleTests.due($0, team: team) }
    }

    @Test("without the lease nothing is read or sent; without keys it is not asked for")
    mutating func lease() throws {
        guard case .writeLease(let write)? = planner.next(at: now) else {
            Issue.record("no lease is asked for")
            return
        }
        #expect(hasNothing())
        let taken = SharedEntry(
            name: "receipts", value: [2], version: 9, term: 3, expiresAt: .max)
        planner.leaseAnswered(
            .success(
                SharedOutcome(isWritten: false, reading: SharedReading(entry: taken, now: 0))),
            at: now.instant)
        #expect(hasNothing())
        #expect(planner.pause(at: now.instant) == .notHolder)
        #expect(write.takesExpired)
        planner.rules.groups = []
        pass(.seconds(60))
        #expect(hasNothing())
        #expect(planner.pause(at: now.instant) == .off)
    }

    @Test("they go out one by one, first when a whole spacing has passed since the lease was won")
    mutating func spacing() throws {
        try takeLease()
        try read(due(1...5))
        #expect(sent() == nil)
        for number in 1...3 as ClosedRange<UInt64> {
            pass(.seconds(1))
            #expect(sent() == ReceiptScheduleTests.keyID(number))
            #expect(sent() == nil)
        }
        // Three are under way, which is the most.
        pass(.seconds(5))
        #expect(sent() == nil)
        #expect(answer(.notFound, 2) == nil)
        guard case .store(let renewals)? = planner.next(at: now) else {
            Issue.record("what is known is not kept")
            return
        }
        #expect(renewals.term == 4 && renewals.lease == "receipts")
        #expect(renewals.writes.map(\.keyID) == [ReceiptScheduleTests.keyID(2)])
        #expect(sent() == ReceiptScheduleTests.keyID(4))
    }

    @Test("what is under way or on its way into the registry is not sent again")
    mutating func busy() throws {
        try takeLease()
        try read(due(1...2))
        pass(.seconds(1))
        _ = sent()
        pass(.seconds(1))
        _ = sent()
        _ = answer(.notFound, 1)
        guard case .store? = planner.next(at: now) else {
            Issue.record("what is known is not kept")
            return
        }
        try read(due(1...3))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(3))
        pass(.seconds(1))
        #expect(sent() == nil)
        // An answer of the registry that was lost is asked for again.
        #expect(planner.stored(.failure(StoreError("gone")), at: now.instant).isEmpty)
        pass(.seconds(2))
        guard case .store(let again)? = planner.next(at: now) else {
            Issue.record("what is known is not kept")
            return
        }
        #expect(again.writes.map(\.keyID) == [ReceiptScheduleTests.keyID(1)])
        #expect(planner.stored(.success([]), at: now.instant).map(\.keyID).count == 1)
    }

    @Test(
        "Apple is left alone for longer each time, or for as long as it says; then one is tried",
        arguments: [
            RenewalResult.throttled(retryAfter: nil), .serverError(retryAfter: nil),
            .unreachable("down"), .unexpected,
        ])
    mutating func backOff(_ result: RenewalResult) throws {
        planner.rules.leaseLifetime = .seconds(3000)
        planner = RenewalPlanner(planner.rules, holder: [1])
        try takeLease()
        for pause in [10, 20, 40, 60, 60] as [Int64] {
            try read(due(1...3))
            pass(.seconds(1))
            #expect(sent() == ReceiptScheduleTests.keyID(1))
            pass(.seconds(1))
            // Only where all is well another one goes out before the first is answered.
            if pause == 10 {
                #expect(sent() == ReceiptScheduleTests.keyID(2))
                #expect(answer(result, 2) == .seconds(pause))
                #expect(answer(result, 1) == nil)
            } else {
                #expect(sent() == nil)
                #expect(answer(result, 1) == .seconds(pause))
            }
            if case .store(let renewals)? = planner.next(at: now) {
                let changed = Set(renewals.writes.map(\.keyID))
                #expect(planner.stored(.success(changed), at: now.instant).isEmpty)
            }
            #expect(planner.pause(at: now.instant) == .backingOff)
            pass(.seconds(pause - 1))
            #expect(sent() == nil)
            pass(.seconds(1))
            #expect(planner.pause(at: now.instant) == nil)
        }
    }

    @Test(
        "Retry-After counts, up to a day",
        arguments: [(3, 10), (15, 15), (900_000, 86_400)] as [(Int64, Int64)])
    mutating func retryAfter(_ asked: Int64, _ pause: Int64) throws {
        try takeLease()
        try read(due(1...3))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(1))
        #expect(answer(.throttled(retryAfter: .seconds(asked)), 1) == .seconds(pause))
        // It says nothing of the receipt, which stays due.
        #expect(sent() == nil)
        #expect(planner.stop(at: now).count == 1)
    }

    @Test("a key that Apple does not take stops its team, and no other; a reload tries again")
    mutating func unauthorized() throws {
        try takeLease()
        try read([
            ReceiptScheduleTests.due(1), ReceiptScheduleTests.due(2),
            ReceiptScheduleTests.due(3, team: "FGHIJ12345"),
        ])
        pass(.seconds(1))
        _ = sent()
        #expect(answer(.unauthorized, 1) == .seconds(600))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(3))
        #expect(planner.pause(at: now.instant) == nil)
        #expect(answer(.unauthorized, 3) == .seconds(600))
        #expect(planner.pause(at: now.instant) == .unauthorized)
        pass(.seconds(5))
        #expect(sent() == nil)
        planner.replace(planner.rules, at: now.instant)
        #expect(planner.pause(at: now.instant) == nil)
    }

    /// Three under way, of which the third is another team's, and then a reload.
    private mutating func reloadUnderWay() throws {
        try takeLease()
        try read(due(1...2) + due(3...3, team: "FGHIJ12345"))
        for number in 1...3 {
            pass(.seconds(1))
            #expect(sent() == ReceiptScheduleTests.keyID(UInt64(number)))
        }
        planner.replace(planner.rules, at: now.instant)
        // They are under way, so that a page does not bring them.
        try read(due(1...3))
        #expect(planner.queue.isEmpty && hasNothing())
    }

    @Test(
        "how a request of before a reload failed says nothing of the keys that came with it",
        arguments: [
            RenewalResult.unauthorized, .serverError(retryAfter: nil), .unreachable("down"),
            .unexpected,
        ])
    mutating func failedBeforeReload(_ result: RenewalResult) throws {
        try reloadUnderWay()
        #expect(answer(result, 1) == nil)
        #expect(planner.pause(at: now.instant) == nil)
        // It is due still, and is sent with the new keys at once.
        try read(due(1...1))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(1))
        // Of the new keys it counts.
        #expect(answer(result, 1) != nil)
    }

    @Test("what Apple said to the keys of before a reload does not end what it says to the new")
    mutating func answeredBeforeReload() throws {
        try reloadUnderWay()
        planner.dueRead(.success(due(4...5)), at: now.instant)
        // A place is free: there are three.
        #expect(answer(.notFound, 3) == nil)
        guard case .store? = planner.next(at: now) else {
            Issue.record("what Apple said of the receipt is not kept")
            return
        }
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(4))
        #expect(answer(.unauthorized, 4) == .seconds(600))
        #expect(answer(.notFound, 1) == nil)
        pass(.seconds(1))
        #expect(sent() == nil)
        #expect(answer(.throttled(retryAfter: .seconds(90)), 2) == .seconds(90))
        #expect(planner.pause(at: now.instant) == .backingOff)
    }

    @Test("what was stored while a page was read is not sent as the page tells of it")
    mutating func storedMeanwhile() throws {
        try takeLease()
        try read(due(1...1))
        pass(.seconds(1))
        _ = sent()
        _ = answer(.notFound, 1)
        guard case .store(let renewals)? = planner.next(at: now),
            case .readDue? = planner.next(at: now)
        else {
            Issue.record("what is known is not kept, or nothing is read")
            return
        }
        #expect(planner.stored(.success(Set(renewals.writes.map(\.keyID))), at: now.instant) == [])
        planner.dueRead(.success(due(1...2)), at: now.instant)
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(2))
        // What is read from now on is as it was stored.
        pass(.seconds(1))
        try read(due(1...1))
        #expect(sent() == ReceiptScheduleTests.keyID(1))
    }

    @Test("what others changed while a page was read is not sent as the page tells of it")
    mutating func changedMeanwhile() throws {
        try takeLease()
        guard case .readDue? = planner.next(at: now) else {
            Issue.record("nothing is read")
            return
        }
        planner.changed(.keys([ReceiptScheduleTests.keyID(1)]))
        planner.dueRead(.success(due(1...2)), at: now.instant)
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(2))
        pass(.seconds(1))
        guard case .readDue? = planner.next(at: now) else {
            Issue.record("nothing is read")
            return
        }
        planner.changed(.everything)
        planner.dueRead(.success(due(1...2)), at: now.instant)
        pass(.seconds(1))
        #expect(sent() == nil)
    }

    @Test("one that was revoked meanwhile is not sent")
    mutating func left() throws {
        try takeLease()
        try read(due(2...3))
        planner.changed(.keys([ReceiptScheduleTests.keyID(2)]))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(3))
    }

    @Test("whoever stops keeps what is known and lets go of the lease")
    mutating func stop() throws {
        try takeLease()
        try read(due(1...2))
        pass(.seconds(1))
        _ = sent()
        _ = answer(.notFound, 1)
        let actions = planner.stop(at: now)
        #expect(actions.count == 2)
        guard case .store(let renewals)? = actions.first,
            case .writeLease(let write)? = actions.last
        else {
            Issue.record("\(actions)")
            return
        }
        #expect(renewals.writes.count == 1)
        #expect(write.lifetime == .zero)
        pass(.seconds(60))
        #expect(hasNothing())
    }

    @Test("where renewals are turned off the lease is let go of once, when all is heard and kept")
    mutating func turnedOff() throws {
        try takeLease()
        try read(due(1...2))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(1))
        var rules = planner.rules
        rules.groups = []
        planner.replace(rules, at: now.instant)
        // It is kept for as long as an answer is awaited.
        pass(.seconds(20))
        guard case .writeLease(let kept)? = planner.next(at: now) else {
            Issue.record("the lease is not kept")
            return
        }
        #expect(kept.lifetime == .seconds(30))
        answerLease(kept)
        #expect(hasNothing())
        pass(.seconds(5))
        _ = answer(.notFound, 1)
        guard case .store(let renewals)? = planner.next(at: now) else {
            Issue.record("what is known is not kept")
            return
        }
        let changed = Set(renewals.writes.map(\.keyID))
        #expect(planner.stored(.success(changed), at: now.instant).isEmpty)
        guard case .writeLease(let released)? = planner.next(at: now) else {
            Issue.record("the lease is not let go of")
            return
        }
        #expect(released.lifetime == .zero)
        answerLease(released)
        for _ in 0..<5 {
            #expect(hasNothing())
            pass(.seconds(60))
        }
        #expect(planner.pause(at: now.instant) == .off)
    }

    @Test("a reload brings another rate at once, and does not end what Apple asked for")
    mutating func replaced() throws {
        planner.rules.spacing = 3_600_000_000_000
        try takeLease()
        #expect(hasNothing() == false)
        var rules = planner.rules
        rules.spacing = 1_000_000_000
        rules.leaseLifetime = .seconds(600)
        planner.replace(rules, at: now.instant)
        #expect(planner.lease.lifetime == .seconds(600))
        planner.dueRead(.success([]), at: now.instant)
        pass(.seconds(2))
        try read(due(1...3))
        #expect(sent() == ReceiptScheduleTests.keyID(1))
        // What failed may have been mended.
        _ = answer(.unreachable("down"), 1)
        #expect(planner.pause(at: now.instant) == .backingOff)
        planner.replace(rules, at: now.instant)
        #expect(planner.pause(at: now.instant) == nil)
        guard case .store? = planner.next(at: now) else {
            Issue.record("what is known is not kept")
            return
        }
        try read(due(2...3))
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(2))
        #expect(answer(.throttled(retryAfter: .seconds(90)), 2) == .seconds(90))
        planner.replace(rules, at: now.instant)
        #expect(planner.pause(at: now.instant) == .backingOff)
    }

    @Test("of pages of several apps no more is held than one page")
    mutating func pages() throws {
        try takeLease()
        try read(due(1...60) + (61...120).map { ReceiptScheduleTests.due($0, team: "FGHIJ12345") })
        #expect(planner.queue.count == 60)
        // A page that is full of what is busy is not an empty one.
        pass(.seconds(1))
        #expect(sent() == ReceiptScheduleTests.keyID(1))
    }

    @Test("a holder that hears nothing of its lease sends nothing when it is over")
    mutating func leaseLost() throws {
        try takeLease()
        try read(due(1...3))
        pass(.seconds(28))
        guard case .writeLease? = planner.next(at: now) else {
            Issue.record("the lease is not extended")
            return
        }
        planner.leaseAnswered(.failure(StoreError("gone")), at: now.instant)
        #expect(sent() == ReceiptScheduleTests.keyID(1))
        pass(.seconds(1))
        #expect(sent() == nil)
        #expect(planner.pause(at: now.instant) == .notHolder)
        // Its answer is kept until it is known who goes on.
        #expect(answer(.notFound, 1) == nil)
        pass(.seconds(5))
        guard case .writeLease? = planner.next(at: now) else {
            Issue.record("the lease is not asked for")
            return
        }
        let taken = SharedEntry(
            name: "receipts", value: [2], version: 9, term: 5, expiresAt: .max)
        planner.leaseAnswered(
            .success(
                SharedOutcome(isWritten: false, reading: SharedReading(entry: taken, now: 0))),
            at: now.instant)
        #expect(planner.stop(at: now).isEmpty)
    }
}
