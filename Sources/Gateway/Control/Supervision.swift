public import EventLoop

/// Tells the service manager the gateway's state: ready, reloading, stopping, and alive for as long
/// as every worker answers. Belongs to the control thread; without a manager it does nothing.
final class Supervision {
    private let socket: NotifySocket?
    /// The interval of the watchdog; nil if the manager keeps no watch.
    private let watchdog: Duration?
    private let hub: Hub
    private let workers: [Mailbox<WorkerMessage>]
    private let reports: Mailbox<WorkerReport>
    private var lastQuestion: UInt64 = 0
    private var answers: [UInt64]
    /// The question that every worker must have answered, with no store missing, before `READY=1`
    /// is sent.
    private var readyQuestion: UInt64?
    private var status = ""
    private var timer: Timer?

    /// `workers`: those that must answer. `reports`: the mailbox for their answers.
    init(
        _ supervisor: Supervisor, hub: Hub, workers: [Mailbox<WorkerMessage>],
        reports: Mailbox<WorkerReport>
    ) {
        socket = supervisor.socket
        watchdog = supervisor.watchdog
        self.hub = hub
        self.workers = workers
        self.reports = reports
        answers = Array(repeating: 0, count: workers.count)
    }

    /// Keeps the watchdog quiet on `loop`: four times in its interval it checks that all workers
    /// have answered since the last time, so that one busy turn does not count as stuck.
    func watch(on loop: EventLoop) {
        guard socket != nil, let watchdog else { return }
        let timer = Timer(loop: loop) { [unowned self] in reportLife() }
        timer.scheduleRepeating(every: watchdog / 4)
        self.timer = timer
        socket?.send(["WATCHDOG=1"])
    }

    func reportLife() {
        guard answers.allSatisfy({ $0 == lastQuestion }) else { return }
        socket?.send(["WATCHDOG=1"])
        ask()
    }

    private func ask() {
        lastQuestion += 1
        // A worker that has drained answers no more questions, and is not stuck.
        for (index, worker) in workers.enumerated()
        where !worker.post(.beat(lastQuestion, reports)) {
            answers[index] = lastQuestion
        }
    }

    func workerAnswered(_ index: Int, _ number: UInt64, site: Site) {
        answers[index] = max(answers[index], number)
        reportReadiness(site: site)
    }

    /// The workers were just told to listen, or to take another configuration. The service is ready
    /// once they have done it.
    func workersChange(status: String) {
        guard socket != nil else { return }
        self.status = status
        ask()
        readyQuestion = lastQuestion
    }

    /// Reports readiness. To be called again and again, because stores come back unasked.
    func reportReadiness(site: Site) {
        guard let socket, let readyQuestion, answers.allSatisfy({ $0 >= readyQuestion }) else {
            return
        }
        let missing = hub.missingStores(for: site)
        guard missing.isEmpty else {
            // Routes without these stores are served meanwhile, so the start must not run out of
            // time.
            let text = "STATUS=waiting for " + missing.joined(separator: ", ")
            socket.send([text, "EXTEND_TIMEOUT_USEC=\(Self.extensionMicroseconds)"])
            return
        }
        if socket.send(["READY=1", "STATUS=" + status]) { self.readyQuestion = nil }
    }

    /// Reports the beginning of a reload or an upgrade; ``workersChange(status:)`` or
    /// ``changeEnded(_:)`` reports its end.
    func changeBegins(_ text: String) {
        let microseconds = MonotonicInstant.now().nanoseconds / 1000
        socket?.send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)", "STATUS=" + text])
    }

    /// Reports that nothing has changed.
    func changeEnded(_ text: String) {
        // A start that is not ready yet must not look ready because a reload has failed.
        if readyQuestion == nil { socket?.send(["READY=1", "STATUS=" + text]) }
    }

    func stopping() {
        readyQuestion = nil
        socket?.send(["STOPPING=1", "STATUS=draining"])
    }

    /// Sends the last beat before the time in which no loop runs.
    func lastBeat() { if watchdog != nil { socket?.send(["WATCHDOG=1"]) } }

    private static let extensionMicroseconds = 10_000_000
}

/// The service manager that started the process, by its environment (sd_notify(3),
/// sd_watchdog_enabled(3)).
public struct Supervisor {
    let socket: NotifySocket?
    let watchdog: Duration?

    /// Throws if `NOTIFY_SOCKET` is no name of a socket.
    public init() throws(IOError) {
        guard let name = HostSystem.environment("NOTIFY_SOCKET"), !name.isEmpty else {
            socket = nil
            watchdog = nil
            return
        }
        socket = try NotifySocket(name)
        let isOurs =
            HostSystem.environment("WATCHDOG_PID").map { $0 == "\(HostSystem.processID)" } ?? true
        watchdog = HostSystem.environment("WATCHDOG_USEC").flatMap { UInt64($0) }.flatMap {
            guard isOurs, $0 >= Self.watchdogMicroseconds.lowerBound else { return nil }
            return .microseconds(min($0, Self.watchdogMicroseconds.upperBound))
        }
    }

    init(socket: NotifySocket?, watchdog: Duration?) {
        self.socket = socket
        self.watchdog = watchdog
    }

    /// The shortest watchdog interval, because timers count milliseconds, and one that is long
    /// enough for any other: an hour.
    private static let watchdogMicroseconds: ClosedRange<UInt64> = 40_000...3_600_000_000
}
