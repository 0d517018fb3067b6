import Attestation
import Background
import Bytes
import Crypto
import Dispatch
import EventLoop
import KeyStore
import SQLiteKeyStore
import Settings

/// Gateways that renew the receipts of one registry, on a clock that a test moves: the planner of
/// each, a real SQLite registry with its index, and an Apple that answers as a script says.
///
/// Time jumps from one event to the next, so that a month takes seconds. The lease lives by the
/// simulated clock, by the rules that every store follows; its terms are kept in the registry, so
/// that what a former holder writes is refused there.
final class RenewalSimulation {
    /// One gateway's planner, and when it wants to be asked.
    private struct Process {
        var planner: RenewalPlanner
        var wakeAt: MonotonicInstant
        var isAlive = true
        /// Stopped by SIGSTOP, as it were: nothing is done and nothing heard until then.
        var frozenUntil: MonotonicInstant?
    }

    private struct Event {
        var at: MonotonicInstant
        var process: Int
        var body: (RenewalSimulation, Int) -> Void
    }

    struct Sending {
        var keyID: KeyID
        var at: MonotonicInstant
        var process: Int
    }

    static let startSeconds: Int64 = 1_800_000_000
    static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    let clock: ManualClock
    let registry: SQLiteRegistry
    private let rules: RenewalPlanner.Rules
    private let leaseLife: Duration
    private var processes: [Process] = []
    private var events: [Event] = []
    private var lease: SharedEntry?
    private(set) var sendings: [Sending] = []
    private(set) var superseded = 0
    private(set) var takeovers = 0
    /// What Apple answers to a receipt at a moment, in seconds since the start.
    var apple: (DueReceipt, Int64) -> RenewalResult = { due, _ in .notFound }

    init(registry: SQLiteRegistry, rules: RenewalPlanner.Rules, leaseLife: Duration) {
        self.registry = registry
        self.rules = rules
        self.leaseLife = leaseLife
        clock = ManualClock(now: Self.start, wallMilliseconds: Self.startSeconds * 1000)
    }

    var elapsedSeconds: Int64 { clock.wallMilliseconds / 1000 - Self.startSeconds }

    private var moment: RenewalPlanner.Moment {
        RenewalPlanner.Moment(instant: clock.now, seconds: clock.wallMilliseconds / 1000)
    }

    // MARK: gateways

    /// Returns its number.
    func startGateway() -> Int {
        let holder = withUnsafeBytes(of: UInt64(processes.count + 1)) { Array($0) }
        var rules = rules
        rules.leaseLifetime = leaseLife
        let planner = RenewalPlanner(rules, holder: holder)
        processes.append(Process(planner: planner, wakeAt: clock.now))
        return processes.count - 1
    }

    /// kill -9: nothing that was under way is ever heard.
    func kill(_ process: Int) { processes[process].isAlive = false }

    func freeze(_ process: Int, for duration: Duration) {
        processes[process].frozenUntil = clock.now + duration
    }

    func holder() -> Int? {
        processes.indices.first {
            processes[$0].isAlive && processes[$0].planner.lease.term(at: clock.now) != nil
        }
    }

    // MARK: time

    /// Handles events until `seconds` after the start.
    func run(until seconds: Int64) {
        let end = Self.start + .seconds(seconds)
        while let next = nextInstant(), next <= end {
            move(to: next)
            let due = events.filter { $0.at <= next }
            events.removeAll { $0.at <= next }
            for event in due { deliver(event) }
            for index in processes.indices { step(index) }
        }
        move(to: end)
    }

    private func nextInstant() -> MonotonicInstant? {
        var next = events.map(\.at).min()
        for process in processes where process.isAlive {
            let at = max(process.wakeAt, process.frozenUntil ?? process.wakeAt)
            next = min(next ?? at, at)
        }
        return next
    }

    private func move(to instant: MonotonicInstant) {
        guard instant > clock.now else { return }
        clock.now = instant
        let elapsed = instant.nanoseconds(since: Self.start) / 1_000_000
        clock.wallMilliseconds = Self.startSeconds * 1000 + Int64(elapsed)
    }

    private func deliver(_ event: Event) {
        guard processes[event.process].isAlive else { return }
        if let until = processes[event.process].frozenUntil, until > clock.now {
            var later = event
            later.at = until
            return events.append(later)
        }
        event.body(self, event.process)
        processes[event.process].wakeAt = clock.now
    }

    private func later(
        _ seconds: Double, _ process: Int, _ body: @escaping (RenewalSimulation, Int) -> Void
    ) {
        let at = clock.now.advanced(byNanoseconds: UInt64(seconds * 1_000_000_000))
        events.append(Event(at: at, process: process, body: body))
    }

    private func step(_ index: Int) {
        guard processes[index].isAlive, processes[index].wakeAt <= clock.now else { return }
        if let until = processes[index].frozenUntil, until > clock.now { return }
        processes[index].frozenUntil = nil
        while let action = processes[index].planner.next(at: moment) { perform(action, index) }
        let wake = processes[index].planner.wake(at: moment)
        // A planner that asks to be woken at once, again and again, would never let time pass.
        precondition(wake > clock.now, "a wake-up without a pause")
        processes[index].wakeAt = wake
    }

    // MARK: what planners want

    private func perform(_ action: RenewalPlanner.Action, _ process: Int) {
        switch action {
        case .writeLease(let write):
            let outcome = writeLease(write)
            later(0.01, process) { simulation, process in
                simulation.processes[process].planner.leaseAnswered(
                    .success(outcome), at: simulation.clock.now)
            }
        case .readDue(let queries):
            let found = queries.flatMap { query in
                wait { reply in registry.dueReceipts(query, reply: reply) }
            }.sorted { $0.dueAt < $1.dueAt }
            later(0.02, process) { simulation, process in
                simulation.processes[process].planner.dueRead(
                    .success(found), at: simulation.clock.now)
            }
        case .countBacklog:
            later(0.02, process) { simulation, process in
                simulation.processes[process].planner.counted(.success(ReceiptBacklog()))
            }
        case .send(let due): send(due, process)
        case .store(let renewals): store(renewals, process)
        }
    }

    private func send(_ due: DueReceipt, _ process: Int) {
        sendings.append(Sending(keyID: due.keyID, at: clock.now, process: process))
        let result = apple(due, elapsedSeconds)
        // Between a fifth of a second and two seconds, by the key.
        let latency = 0.2 + Double(due.keyID.digest.word0 % 1800) / 1000
        later(latency, process) { simulation, process in
            _ = simulation.processes[process].planner.answered(
                result, of: due.keyID, at: simulation.moment, jitter: 0.5)
        }
    }

    private func store(_ renewals: FencedRenewals, _ process: Int) {
        later(20, process) { simulation, process in
            let changed = simulation.wait { reply in
                simulation.registry.storeRenewals(renewals, reply: reply)
            }
            let refused = simulation.processes[process].planner.stored(
                .success(changed), at: simulation.clock.now)
            simulation.superseded += refused.count
        }
    }

    /// By the simulated clock; a new term is written into the registry.
    private func writeLease(_ write: SharedWrite) -> SharedOutcome {
        let now = clock.wallMilliseconds
        guard let entry = write.entry(over: lease, at: now) else {
            return SharedOutcome(isWritten: false, reading: SharedReading(entry: lease, now: now))
        }
        if entry.term != lease?.term {
            takeovers += 1
            var mark = SharedWrite(
                name: entry.name, value: entry.value, expected: nil, lifetime: .zero)
            mark.takesExpired = true
            let outcome = wait { reply in registry.writeShared(mark, reply: reply) }
            precondition(outcome.reading.entry?.term == entry.term, "terms run apart")
        }
        lease = entry
        return SharedOutcome(isWritten: true, reading: SharedReading(entry: entry, now: now))
    }

    private func wait<Value: Sendable>(
        _ ask: (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
    ) -> Value {
        let semaphore = DispatchSemaphore(value: 0)
        let answer = Locked<Result<Value, StoreError>?>(nil)
        ask { result in
            answer.withLock { $0 = result }
            semaphore.signal()
        }
        semaphore.wait()
        switch answer.withLock({ $0 }) {
        case .success(let value): return value
        case .failure(let error): preconditionFailure(error.description)
        case nil: preconditionFailure("no answer")
        }
    }
}
