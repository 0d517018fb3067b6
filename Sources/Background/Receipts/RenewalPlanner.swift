import AppAttest
package import Attestation
package import EventLoop
package import KeyStore

/// Decides about receipts that are due: which gateway renews, when each receipt is sent, which part
/// of the answer is kept, and when Apple is not asked. Touches no socket, no store and no clock:
/// ``next(at:)`` returns the next action, and the other methods take the results.
package struct RenewalPlanner {
    /// The present time by both clocks.
    package struct Moment: Hashable, Sendable {
        package var instant: MonotonicInstant
        /// The seconds since 1970.
        package var seconds: Int64

        package init(instant: MonotonicInstant, seconds: Int64) {
            self.instant = instant
            self.seconds = seconds
        }
    }

    package enum Action {
        case writeLease(SharedWrite)
        /// Read due receipts; the queries are answered all together.
        case readDue([DueReceiptQuery])
        case countBacklog([ReceiptGroup], now: Int64)
        case send(DueReceipt)
        case store(FencedRenewals)
    }

    /// The name of the lease in the registry.
    package static let leaseName = "receipts"
    /// The number of receipts in one page, a megabyte.
    private static let pageCountMax = 200
    /// The time for which a page may be used, so that keys revoked meanwhile are left out: a
    /// minute.
    private static let pageNanoseconds: UInt64 = 60_000_000_000
    /// The most results that wait for the registry; no more are gathered.
    package static let resultCountMax = 500
    /// Apple is asked again after this time even if its answer names a longer one.
    private static let retryAfterMax = Duration.seconds(86_400)
    private static let countInterval = Duration.seconds(30)

    package var rules: Rules
    package private(set) var lease: SharedLease
    /// The receipts that were read and not yet sent, oldest first.
    package private(set) var queue: ArraySlice<DueReceipt> = []
    private var inFlight: [KeyID: DueReceipt] = [:]
    /// The keys among them that were sent by an earlier configuration, with its credentials and
    /// client.
    private var outdatedFlights: Set<KeyID> = []
    private var results: [RenewalWrite] = []
    /// The writes on their way to the registry.
    private var storing: [RenewalWrite] = []
    private var isReading = false
    /// The changes since the page on its way was asked for, which may hold an earlier state.
    private var outdated = OutdatedReceipts()
    private var isCounting = false
    private var nextSend: MonotonicInstant?
    private var nextRead: MonotonicInstant?
    private var nextStore: MonotonicInstant?
    private var nextCount: MonotonicInstant?
    /// The number of answers in a row that call for a pause, and the end of the pause.
    private var backOffCount = 0
    private var backOffUntil: MonotonicInstant?
    /// True if Apple itself asked for that.
    private var isThrottled = false
    /// The teams whose keys Apple does not accept.
    private var refusedTeams: [String: MonotonicInstant] = [:]
    package private(set) var backlog = ReceiptBacklog()

    /// `holder`: random bytes made at the start.
    package init(_ rules: Rules, holder: [UInt8]) {
        self.rules = rules
        lease = SharedLease(name: Self.leaseName, holder: holder, lifetime: rules.leaseLifetime)
    }

    // MARK: actions

    /// The next action. Ask until it is nil, and again after ``wake(at:)`` and after each event.
    package mutating func next(at now: Moment) -> Action? {
        let isActive = !rules.groups.isEmpty
        let isBusy = !(inFlight.isEmpty && results.isEmpty && storing.isEmpty)
        let isHolder = lease.term(at: now.instant) != nil
        // If nothing more is to be sent, the lease is kept until all answers have come and are
        // written.
        if isActive || isHolder && isBusy, let write = lease.write(at: now.instant) {
            return .writeLease(write)
        }
        guard let term = lease.term(at: now.instant) else {
            // The next holder of the lease reads again what is due by then.
            queue = []
            if !isActive { results = [] }
            return nil
        }
        if nextSend == nil { nextSend = now.instant.advanced(byNanoseconds: rules.spacing) }
        if let action = store(term, now) { return action }
        if !isActive { return release(now) }
        if let action = count(now) ?? read(now) { return action }
        return send(now)
    }

    private mutating func store(_ term: Int64, _ now: Moment) -> Action? {
        guard storing.isEmpty, !results.isEmpty, nextStore.map({ $0 <= now.instant }) ?? true
        else { return nil }
        storing = results
        results = []
        return .store(FencedRenewals(lease: lease.name, term: term, writes: storing))
    }

    private mutating func release(_ now: Moment) -> Action? {
        guard inFlight.isEmpty, results.isEmpty, storing.isEmpty else { return nil }
        return lease.release(at: now.instant).map { .writeLease($0) }
    }

    private mutating func count(_ now: Moment) -> Action? {
        guard !isCounting, nextCount.map({ $0 <= now.instant }) ?? true else { return nil }
        isCounting = true
        nextCount = now.instant + max(Self.countInterval, rules.pollInterval)
        return .countBacklog(rules.groups, now: now.seconds)
    }

    private mutating func read(_ now: Moment) -> Action? {
        guard queue.isEmpty, !isReading, !isBackingOff(now.instant),
            nextRead.map({ $0 <= now.instant }) ?? true
        else { return nil }
        let groups = rules.groups.filter { !isRefused($0, now.instant) }
        guard !groups.isEmpty else { return nil }
        isReading = true
        outdated = OutdatedReceipts()
        let busyCount = inFlight.count + results.count + storing.count
        return .readDue(
            groups.map {
                DueReceiptQuery(
                    group: $0, dueBy: now.seconds, countMax: pageCount + busyCount)
            })
    }

    private var pageCount: Int {
        min(Self.pageCountMax, max(1, Int(Self.pageNanoseconds / rules.spacing)))
    }

    private mutating func send(_ now: Moment) -> Action? {
        guard !isBackingOff(now.instant), results.count < Self.resultCountMax else { return nil }
        // After a failure, a single receipt finds out if it is over.
        let inFlightMax = backOffCount > 0 ? 1 : rules.inFlightCountMax
        while inFlight.count < inFlightMax, let due = queue.first {
            if isRefused(due.group, now.instant) || !rules.groups.contains(due.group) {
                queue.removeFirst()
                continue
            }
            guard let nextSend, nextSend <= now.instant else { return nil }
            self.nextSend = now.instant.advanced(byNanoseconds: rules.spacing)
            queue.removeFirst()
            inFlight[due.keyID] = due
            return .send(due)
        }
        return nil
    }

    private func isBackingOff(_ now: MonotonicInstant) -> Bool {
        backOffUntil.map { now < $0 } ?? false
    }

    private func isRefused(_ group: ReceiptGroup, _ now: MonotonicInstant) -> Bool {
        refusedTeams[group.teamID].map { now < $0 } ?? false
    }

    /// The time to ask ``next(at:)`` again if nothing happens before; later than now.
    package func wake(at now: Moment) -> MonotonicInstant {
        var wake = now.instant + .seconds(1)
        // It is past while an answer is awaited, which is an event of its own.
        if let next = lease.nextWrite, next > now.instant { wake = next }
        if lease.term(at: now.instant) == nil { return wake }
        func consider(_ instant: MonotonicInstant?) {
            if let instant, instant > now.instant { wake = min(wake, instant) }
        }
        consider(nextCount)
        consider(nextStore)
        if isBackingOff(now.instant) {
            consider(backOffUntil)
        } else {
            if !queue.isEmpty { consider(nextSend) }
            if queue.isEmpty, !isReading { consider(nextRead) }
        }
        for until in refusedTeams.values { consider(until) }
        return wake
    }

    /// The reason why nothing is sent now; nil if receipts are.
    package func pause(at now: MonotonicInstant) -> Pause? {
        if rules.groups.isEmpty { return .off }
        if lease.term(at: now) == nil { return .notHolder }
        if isBackingOff(now) { return .backingOff }
        return rules.groups.allSatisfy({ isRefused($0, now) }) ? .unauthorized : nil
    }

    /// The last actions, in this order: known results are kept, and the lease is released, so that
    /// another gateway goes on at once. That one sends again the receipts that are under way.
    package mutating func stop(at now: Moment) -> [Action] {
        guard let term = lease.term(at: now.instant) else { return [] }
        var actions: [Action] = []
        if !results.isEmpty {
            actions.append(
                .store(FencedRenewals(lease: lease.name, term: term, writes: results)))
        }
        results = []
        if let write = lease.release(at: now.instant) { actions.append(.writeLease(write)) }
        rules.groups = []
        return actions
    }

    /// Takes another configuration. The reasons for which Apple refused, or could not be reached,
    /// may be gone.
    package mutating func replace(_ rules: Rules, at now: MonotonicInstant) {
        self.rules = rules
        lease.lifetime = rules.leaseLifetime
        nextSend = nextSend.map { min($0, now.advanced(byNanoseconds: rules.spacing)) }
        refusedTeams = [:]
        if !isThrottled { backOffUntil = nil }
        queue = []
        nextRead = nil
        nextCount = nil
        outdatedFlights = Set(inFlight.keys)
    }

    // MARK: results

    package mutating func leaseAnswered(
        _ result: Result<SharedOutcome, StoreError>, at now: MonotonicInstant
    ) {
        let wasHolder = lease.term(at: now) != nil
        lease.answered(result, at: now)
        let isHolder = lease.term(at: now) != nil
        // Another gateway holds the lease, and sends these receipts again.
        if case .success = result, !isHolder { results = [] }
        guard isHolder, !wasHolder else { return }
        // The former holder may have sent a receipt a moment ago.
        nextSend = now.advanced(byNanoseconds: rules.spacing)
        nextRead = nil
        nextCount = nil
    }

    package mutating func dueRead(
        _ result: Result<[DueReceipt], StoreError>, at now: MonotonicInstant
    ) {
        isReading = false
        guard case .success(let found) = result else {
            nextRead = now + .seconds(1)
            return
        }
        let busy = Set(inFlight.keys).union((results + storing).map(\.keyID))
        queue =
            outdated.removed(from: found).filter { !busy.contains($0.keyID) }
            .prefix(pageCount)
        nextRead = queue.isEmpty ? now + rules.pollInterval : nil
    }

    /// Notes that others have changed keys, which are read again before their receipts are sent.
    package mutating func changed(_ change: RegistryChange) {
        if isReading { outdated.changed(change) }
        switch change {
        case .keys(let keys):
            let keys = Set(keys)
            queue = queue.filter { !keys.contains($0.keyID) }[...]
        case .everything, .replaced: queue = []
        }
    }

    package mutating func counted(_ result: Result<ReceiptBacklog, StoreError>) {
        isCounting = false
        if case .success(let backlog) = result { self.backlog = backlog }
    }

    /// Returns how long Apple is not to be asked, if that has changed.
    ///
    /// Apple's word about a receipt, and its wish not to be asked, count for a request of any
    /// configuration. Any other result of a request of an earlier configuration says nothing about
    /// the present one.
    package mutating func answered(
        _ result: RenewalResult, of keyID: KeyID, at now: Moment, jitter: Double
    ) -> Duration? {
        guard let due = inFlight.removeValue(forKey: keyID) else { return nil }
        if outdatedFlights.remove(keyID) != nil, result.outcome != .throttled {
            if result.isJudgement {
                keep(result, of: due, now)
            } else {
                // It is still due, and the page that was read meanwhile left it out.
                nextRead = nil
            }
            return nil
        }
        keep(result, of: due, now)
        if result.isJudgement {
            backOffCount = 0
            refusedTeams[due.group.teamID] = nil
            return nil
        }
        if case .unauthorized = result {
            let isNew = !isRefused(due.group, now.instant)
            refusedTeams[due.group.teamID] = now.instant + rules.unauthorizedPause
            return isNew ? rules.unauthorizedPause : nil
        }
        guard result.callsForBackOff else { return nil }
        // Of several answers to requests under way the first one counts.
        let isNew = !isBackingOff(now.instant)
        if isNew { backOffCount += 1 }
        var pause = rules.backOff.delay(failureCount: backOffCount, jitter: jitter)
        if let asked = result.retryAfter { pause = max(pause, min(asked, Self.retryAfterMax)) }
        let until = now.instant + pause
        backOffUntil = max(backOffUntil ?? until, until)
        isThrottled = isThrottled && !isNew || result.outcome == .throttled
        queue = []
        return isNew ? pause : nil
    }

    private mutating func keep(_ result: RenewalResult, of due: DueReceipt, _ now: Moment) {
        guard let write = rules.schedule.write(result, of: due, at: now.seconds) else { return }
        results.append(write)
    }

    /// Returns the writes that the registry did not take, because their keys have changed.
    package mutating func stored(
        _ result: Result<Set<KeyID>, StoreError>, at now: MonotonicInstant
    ) -> [RenewalWrite] {
        let writes = storing
        storing = []
        switch result {
        case .success(let changed):
            nextStore = nil
            if isReading { outdated.stored(writes.map(\.keyID)) }
            return writes.filter { !changed.contains($0.keyID) }
        case .failure:
            // Perhaps they were written. Writing them again changes nothing.
            results = writes + results
            nextStore = now + .seconds(1)
            return []
        }
    }
}
