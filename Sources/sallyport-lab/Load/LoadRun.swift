import Bytes
import EventLoop

/// One measurement: connections in a closed loop on this thread, and what came of them.
final class LoadRun {
    let plan: LoadPlan
    let loop: EventLoop
    private var connections: [LoadConnection] = []
    private var isMeasuring = false
    private var measuredFrom = MonotonicInstant.now()
    private var usageAtStart = ProcessUsage.Sample()
    private(set) var report = LoadReport()
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
        let start = Timer(loop: loop) { [unowned self] in beginMeasuring() }
        let end = Timer(loop: loop) { [unowned self] in endMeasuring() }
        start.schedule(after: plan.warmUp)
        end.schedule(after: plan.warmUp + plan.duration)
        for connection in connections { connection.open() }
        loop.run()
        for connection in connections { connection.close() }
        if let failure { throw failure }
        return report
    }

    private func beginMeasuring() {
        isMeasuring = true
        report.latencies.reserveCapacity(1 << 20)
        usageAtStart = ProcessUsage.sample(of: plan.processID)
        measuredFrom = .now()
    }

    private func endMeasuring() {
        let usage = ProcessUsage.sample(of: plan.processID)
        let elapsed = MonotonicInstant.now().nanoseconds(since: measuredFrom)
        report.seconds = Double(elapsed) / 1e9
        report.serverSeconds = usage.serverSeconds - usageAtStart.serverSeconds
        report.ownSeconds = usage.ownSeconds - usageAtStart.ownSeconds
        loop.stop()
    }

    /// One answered request; `nanoseconds` from its first byte to the end of the answer.
    func record(status: UInt16, nanoseconds: UInt64) {
        guard isMeasuring else { return }
        report.statuses[status, default: 0] += 1
        report.latencies.append(UInt32(clamping: nanoseconds / 1000))
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
