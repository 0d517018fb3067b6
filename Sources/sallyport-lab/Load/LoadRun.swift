import Bytes
import EventLoop

/// One measurement: connections on this thread, and their results. Each sends when it has its
/// answer, or all of them send together at a fixed rate (``LoadPace``).
final class LoadRun {
    let plan: LoadPlan
    let loop: EventLoop
    private var connections: [LoadConnection] = []
    private var isMeasuring = false
    private var measuredFrom = MonotonicInstant.now()
    private var usageAtStart = ProcessUsage.Sample()
    private(set) var report = LoadReport()
    private var pace: LoadPace?
    /// Checks in each turn which requests are due, because timers are too coarse for that.
    private var pacing: TurnEndHook?
    /// Connections whose next request is still to be made, and those whose request is ready but not
    /// due.
    private var idle: [LoadConnection] = []
    private var ready: [LoadConnection] = []
    /// The number of connections that still sign requests ahead.
    private var stockingCount = 0
    /// Ends the warm-up, and then the measurement.
    private var start: Timer?
    private var end: Timer?
    /// The time at which the measurement ended. Requests that are due later are not sent.
    private var endedAt = MonotonicInstant.distantFuture
    /// Ends the wait for answers to requests that were due.
    private var limit: Timer?
    /// Set when going on makes no sense.
    private var failure: LabError?

    init(_ plan: LoadPlan) throws {
        self.plan = plan
        loop = try EventLoop()
    }

    func run() throws -> LoadReport {
        for index in 0..<plan.connectionCount {
            connections.append(
                LoadConnection(run: self, devices: try plan.devices(ofConnection: index)))
        }
        start = Timer(loop: loop) { [unowned self] in beginMeasuring() }
        end = Timer(loop: loop) { [unowned self] in endMeasuring() }
        limit = Timer(loop: loop) { [unowned self] in loop.stop() }
        stockingCount = plan.stockPerConnection > 0 ? connections.count : 0
        if stockingCount == 0 { begin() }
        for connection in connections { connection.open() }
        loop.run()
        pacing = nil
        for connection in connections { connection.close() }
        if let failure { throw failure }
        countUnanswered()
        return report
    }

    // MARK: sending times

    private func begin() {
        start?.schedule(after: plan.warmUp)
        end?.schedule(after: plan.warmUp + plan.duration)
        guard let rate = plan.rate else {
            for connection in idle { connection.prepare() }
            idle = []
            return
        }
        pacing = TurnEndHook(loop: loop) { [unowned self] in sendDue(rate) }
        pacing?.schedule()
    }

    /// The connection is ready for its next request. At a fixed rate the request is made later: a
    /// signature made now would delay the reading of answers, and count as time of the server.
    func isIdle(_ connection: LoadConnection) {
        if stockingCount == 0, plan.rate == nil { return connection.prepare() }
        let isStocking = stockingCount > 0 && !connection.isStocked
        if isStocking, !connection.stocks(plan.stockPerConnection) { return }
        idle.append(connection)
        guard isStocking else { return }
        stockingCount -= 1
        if stockingCount == 0 { begin() }
    }

    /// The connection has its next request ready to be sent.
    func isReady(_ connection: LoadConnection) {
        if plan.rate == nil { return connection.send(dueAt: .now()) }
        ready.append(connection)
    }

    /// A connection has sent every request that was signed ahead. Without a rate the measurement
    /// ends, which is shorter then; a rate cannot be kept.
    func isOut() {
        guard plan.rate == nil, isMeasuring else {
            return fail(LabError("a connection has sent every request that was signed ahead"))
        }
        endMeasuring()
    }

    /// The connection was lost.
    func isLost(_ connection: LoadConnection) {
        idle.removeAll { $0 === connection }
        ready.removeAll { $0 === connection }
    }

    /// Sends the requests that are due, then makes one request more.
    private func sendDue(_ rate: Int) {
        let now = min(MonotonicInstant.now(), endedAt)
        // The time at which all are connected: requests that were due before are not counted as
        // late.
        if pace == nil, ready.count == connections.count { pace = LoadPace(rate: rate, from: now) }
        // In turn, so that all connections use up their signed requests evenly.
        while let due = pace?.next, due <= now, !ready.isEmpty {
            pace?.take()
            ready.removeFirst().send(dueAt: due)
        }
        if !idle.isEmpty { idle.removeFirst().prepare() }
        pacing?.schedule()
        if endedAt < .distantFuture, !isAwaiting { loop.stop() }
    }

    /// True if a request that was due is still to be sent or answered.
    private var isAwaiting: Bool {
        if let pace, pace.next <= endedAt { return true }
        return connections.contains { $0.dueAt != nil }
    }

    // MARK: measuring

    private func beginMeasuring() {
        isMeasuring = true
        report.latencies.reserveCapacity(1 << 20)
        usageAtStart = ProcessUsage.sample(of: plan.processID)
        measuredFrom = .now()
    }

    private func endMeasuring() {
        let usage = ProcessUsage.sample(of: plan.processID)
        endedAt = .now()
        let elapsed = endedAt.nanoseconds(since: measuredFrom)
        report.seconds = Double(elapsed) / 1e9
        report.serverSeconds = usage.serverSeconds - usageAtStart.serverSeconds
        report.ownSeconds = usage.ownSeconds - usageAtStart.ownSeconds
        report.lateCount = pace?.lateCount(at: endedAt)
        // Otherwise a server that stalls until the end would hide all unanswered requests.
        if plan.rate == nil { loop.stop() } else { limit?.schedule(after: plan.wait) }
    }

    /// Records one answered request.
    func record(status: UInt16, dueAt: MonotonicInstant) {
        guard isMeasuring else { return }
        report.statuses[status, default: 0] += 1
        if endedAt == .distantFuture { report.requestCount += 1 }
        addLatency(of: dueAt, at: .now())
    }

    /// Counts requests without an answer with their age, because they took at least that long.
    private func countUnanswered() {
        guard var pace else { return }
        var unanswered = connections.compactMap(\.dueAt)
        while pace.next <= endedAt {
            unanswered.append(pace.next)
            pace.take()
        }
        let now = MonotonicInstant.now()
        for dueAt in unanswered { addLatency(of: dueAt, at: now) }
        report.unansweredCount = unanswered.count
    }

    private func addLatency(of dueAt: MonotonicInstant, at now: MonotonicInstant) {
        report.latencies.append(UInt32(clamping: now.nanoseconds(since: dueAt) / 1000))
    }

    func recordError() {
        report.errorCount += 1
        // A server that refuses everything does not need a full run.
        if report.errorCount > 10 * plan.connectionCount {
            fail(LabError("\(plan.address) ends every connection"))
        }
    }

    func fail(_ error: LabError) {
        failure = failure ?? error
        loop.stop()
    }
}
