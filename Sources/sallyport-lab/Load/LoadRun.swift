import Bytes
import EventLoop

/// One measurement: connections on this thread, and what came of them. Each sends when it has its
/// answer, or at a fixed rate all of them together (``LoadPace``).
final class LoadRun {
    let plan: LoadPlan
    let loop: EventLoop
    private var connections: [LoadConnection] = []
    private var isMeasuring = false
    private var measuredFrom = MonotonicInstant.now()
    private var usageAtStart = ProcessUsage.Sample()
    private(set) var report = LoadReport()
    private var pace: LoadPace?
    /// Asks at each turn which requests are due: timers are too coarse for that.
    private var pacing: TurnEndHook?
    /// Connections whose next request is still to be made, and those whose request waits until it
    /// is due.
    private var idle: [LoadConnection] = []
    private var ready: [LoadConnection] = []
    /// Connections that still sign requests ahead.
    private var stockingCount = 0
    /// When warming up ends, and when measuring does.
    private var start: Timer?
    private var end: Timer?
    /// When measuring ended; what is due later is not sent.
    private var endedAt = MonotonicInstant.distantFuture
    /// When the run gives up waiting for answers to what was due.
    private var limit: Timer?
    /// Set when something makes it pointless to go on.
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

    // MARK: when requests are sent

    private func begin() {
        start?.schedule(after: plan.warmUp)
        end?.schedule(after: plan.warmUp + plan.duration)
        guard let rate = plan.rate else { return }
        pacing = TurnEndHook(loop: loop) { [unowned self] in sendDue(rate) }
        pacing?.schedule()
    }

    /// The connection may have its next request. At a fixed rate that takes its turn: a signature
    /// made now would hold up answers that have come, and count as time that the server took.
    func isIdle(_ connection: LoadConnection) {
        if plan.rate == nil { return connection.prepare() }
        if stockingCount > 0, !connection.isStocked {
            guard connection.stocks(plan.stockPerConnection) else { return }
            stockingCount -= 1
            if stockingCount == 0 { begin() }
        }
        idle.append(connection)
    }

    /// The connection has its next request ready to be sent.
    func isReady(_ connection: LoadConnection) {
        if plan.rate == nil { return connection.send(dueAt: .now()) }
        ready.append(connection)
    }

    /// The connection was lost.
    func isLost(_ connection: LoadConnection) {
        idle.removeAll { $0 === connection }
        ready.removeAll { $0 === connection }
    }

    /// Sends what is due, then makes one request more.
    private func sendDue(_ rate: Int) {
        let now = min(MonotonicInstant.now(), endedAt)
        // The time at which all are connected: requests that were due before are not counted as
        // late.
        if pace == nil, ready.count == connections.count { pace = LoadPace(rate: rate, from: now) }
        // In turn, so that all use up what they have signed ahead alike.
        while let due = pace?.next, due <= now, !ready.isEmpty {
            pace?.take()
            ready.removeFirst().send(dueAt: due)
        }
        if !idle.isEmpty { idle.removeFirst().prepare() }
        pacing?.schedule()
        if endedAt < .distantFuture, !isAwaiting { loop.stop() }
    }

    /// A request that was due is still to be sent or answered.
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
        // A server that stalls until the end would otherwise hide all that it keeps waiting.
        if plan.rate == nil { loop.stop() } else { limit?.schedule(after: plan.wait) }
    }

    /// One answered request.
    func record(status: UInt16, dueAt: MonotonicInstant) {
        guard isMeasuring else { return }
        report.statuses[status, default: 0] += 1
        if endedAt == .distantFuture { report.requestCount += 1 }
        addLatency(of: dueAt, at: .now())
    }

    /// Requests that were due and have no answer count with their age: they took no less.
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
        // A server that refuses everything is not worth a full run.
        if report.errorCount > 10 * plan.connectionCount {
            fail(LabError("\(plan.address) ends every connection"))
        }
    }

    func fail(_ error: LabError) {
        failure = failure ?? error
        loop.stop()
    }
}
