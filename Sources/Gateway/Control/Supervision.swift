public import EventLoop

/// Tells the service manager how the gateway is: ready, reloading, stopping, and alive for as long
/// as every worker answers. The control thread's; without a manager it does nothing.
final class Supervision {
    private let socket: NotifySocket?
    /// Nil where the manager keeps no watch.
    private let watchdog: Duration?
    private let hub: Hub
    private let workers: [Mailbox<WorkerMessage>]
    private let reports: Mailbox<WorkerReport>
    private var lastQuestion: UInt64 = 0
    private var answers: [UInt64]
    /// `READY=1` is due when every worker has answered this question and no store is missing.
    private var readyQuestion: UInt64?
    private var status = ""
    private var timer: Timer?

    /// `workers`: those that must answer, and `reports` where they do.
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

    /// Keeps the watchdog quiet on `loop`: four times in its interval it hears of workers that have
    /// all answered since the last time, so that one busy turn does not count as stuck.
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
        // One that has drained takes no more questions, and is not stuck.
        for (index, worker) in workers.enumerated()
        where !worker.post(.beat(lastQuestion, reports)) {
            answers[index] = lastQuestion
        }
    }

    func workerAnswered(_ index: Int, _ number: UInt64, site: Site) {
        answers[index] = max(answers[index], number)
        reportReadiness(site: site)
    }

    /// What the workers were just told (to listen, or another configuration) makes the service
    /// ready once they have done it.
    func workersChange(status: String) {
        guard socket != nil else { return }
        self.status = status
        ask()
        readyQuestion = lastQuestion
    }

    /// To be called again and again: stores come back unasked.
    func reportReadiness(site: Site) {
        guard let socket, let readyQuestion, answers.allSatisfy({ $0 >= readyQuestion }) else {
            return
        }
        let missing = hub.missingStores(for: site)
        guard missing.isEmpty else {
            // Routes that need none are served meanwhile, so the start must not run out of time.
            let text = "STATUS=waiting for " + missing.joined(separator: ", ")
            socket.send([text, "EXTEND_TIMEOUT_USEC=\(Self.extensionMicroseconds)"])
            return
        }
        if socket.send(["READY=1", "STATUS=" + status]) { self.readyQuestion = nil }
    }

    /// Before a reload or an upgrade; ``workersChange(status:)`` or ``changeEnded(_:)`` ends it.
    func changeBegins(_ text: String) {
        let microseconds = MonotonicInstant.now().nanoseconds / 1000
        socket?.send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)", "STATUS=" + text])
    }

    /// Nothing has changed.
    func changeEnded(_ text: String) {
        // A start that is not ready yet must not look ready for a reload that failed.
        if readyQuestion == nil { socket?.send(["READY=1", "STATUS=" + text]) }
    }

    func stopping() {
        readyQuestion = nil
        socket?.send(["STOPPING=1", "STATUS=draining"])
    }

    /// Before the time in which no loop runs.
    func lastBeat() { if watchdog != nil { socket?.send(["WATCHDOG=1"]) } }

    private static let extensionMicroseconds = 10_000_000
}

/// The service manager that started the process, as its environment tells (sd_notify(3),
/// sd_watchdog_enabled(3)).
public struct Supervisor {
    let socket: NotifySocket?
    let watchdog: Duration?

    /// Throws where `NOTIFY_SOCKET` is no name of a socket.
    public init() throws(IOError) {
        guard let name = HostSystem.environment("NOTIFY_SOCKET"), !name.isEmpty else {
            socket = nil
            watchdog = nil
            return
        }
        socket = try NotifySocket(name)
        let isOurs =
            HostSystem.environment("WATCHDOG_PID").map { $0 == "\(HostSystem.processID)" } ?? true
        watchdog = HostSystem.environment("WATCHDOG_USEC").flatMap { UInt32($0) }
            .flatMap { isOurs && $0 >= Self.watchdogMicrosecondsMin ? .microseconds($0) : nil }
    }

    init(socket: NotifySocket?, watchdog: Duration?) {
        self.socket = socket
        self.watchdog = watchdog
    }

    /// Timers count milliseconds.
    private static let watchdogMicrosecondsMin: UInt32 = 40_000
}
