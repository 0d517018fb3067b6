import Bytes
import EventLoop
import JSON

/// Clients that come, send one request on a connection of their own, and leave: with their answer,
/// or without it when they have waited long enough.
final class VisitRun {
    let loop: EventLoop
    let address: SocketAddress
    private let phases: [VisitPhase]
    private let requests: [[UInt8]]
    private let patience: Duration
    /// The addresses from which clients connect, in turn; the system's choice if empty.
    private let sources: [SocketAddress]
    private var nextSourceIndex = 0
    private var counts: [PhaseCount]
    private var nextRequest = 0
    private var phase = 0
    private var pace: LoadPace?
    private var beganAt = MonotonicInstant.now()
    private var sentInPhase = 0
    /// The visits, in the order in which they give up; those before ``first`` are over.
    private var visits: [Visit] = []
    private var first = 0
    private var underwayCount = 0
    private var statuses: [UInt16: Int] = [:]
    private var gaveUpCount = 0
    private var lostCount = 0
    private var turnEnd: TurnEndHook?

    /// The results of the requests of a phase.
    private struct PhaseCount {
        var seconds = 0.0
        /// The counts by tenths of a second from the phase's start.
        var came: [Int] = []
        var served: [Int] = []

        mutating func note(_ tenth: Int, isServed: Bool) {
            while came.count <= tenth {
                came.append(0)
                served.append(0)
            }
            if isServed { served[tenth] += 1 } else { came[tenth] += 1 }
        }
    }

    init(
        address: SocketAddress, phases: [VisitPhase], requests: [[UInt8]], patience: Duration,
        sources: [SocketAddress]
    ) throws {
        self.address = address
        self.phases = phases
        self.requests = requests
        self.patience = patience
        self.sources = sources
        counts = Array(repeating: PhaseCount(), count: phases.count)
        loop = try EventLoop()
    }

    /// Returns one JSON object on one line.
    func run() throws -> String {
        turnEnd = TurnEndHook(loop: loop) { [unowned self] in turn() }
        begin()
        turnEnd?.schedule()
        loop.run()
        turnEnd = nil
        return report()
    }

    private func begin() {
        beganAt = .now()
        sentInPhase = 0
        if case .rate(let rate, _) = phases[phase].pace {
            pace = LoadPace(rate: rate, from: beganAt)
        }
    }

    private func turn() {
        let now = MonotonicInstant.now()
        giveUp(now)
        if phase < phases.count { send(now) }
        if phase == phases.count, underwayCount == 0 { return loop.stop() }
        turnEnd?.schedule()
    }

    /// Sends the requests that are due, and goes on to the next phase when this one is over.
    private func send(_ now: MonotonicInstant) {
        let isOver: Bool
        switch phases[phase].pace {
        case .rate(_, let nanoseconds):
            let end = beganAt.advanced(byNanoseconds: nanoseconds)
            while let due = pace?.next, due <= now, due < end {
                pace?.take()
                visit(dueAt: due)
            }
            isOver = now >= end
        case .atOnce(let count):
            while underwayCount < count, sentInPhase < phases[phase].requestCount {
                visit(dueAt: now)
            }
            isOver = sentInPhase == phases[phase].requestCount && underwayCount == 0
        }
        guard isOver else { return }
        counts[phase].seconds = Double(now.nanoseconds(since: beganAt)) / 1e9
        phase += 1
        if phase < phases.count { begin() }
    }

    private func visit(dueAt due: MonotonicInstant) {
        guard nextRequest < requests.count else { return }
        sentInPhase += 1
        underwayCount += 1
        let tenth = Int(due.nanoseconds(since: beganAt) / 100_000_000)
        counts[phase].note(tenth, isServed: false)
        let visit = Visit(self, requests[nextRequest], phase, tenth, until: due + patience)
        nextRequest += 1
        visits.append(visit)
        visit.open()
    }

    private func giveUp(_ now: MonotonicInstant) {
        while first < visits.count, visits[first].isOver || visits[first].until <= now {
            if !visits[first].isOver {
                gaveUpCount += 1
                visits[first].end()
            }
            first += 1
        }
        if first >= 4096 {
            visits.removeFirst(first)
            first = 0
        }
    }

    func nextSource() -> SocketAddress? {
        guard !sources.isEmpty else { return nil }
        nextSourceIndex = (nextSourceIndex + 1) % sources.count
        return sources[nextSourceIndex]
    }

    func isOver(_ visit: Visit) { underwayCount -= 1 }

    func isLost(_ visit: Visit) {
        lostCount += 1
        visit.end()
    }

    func isAnswered(_ visit: Visit, status: UInt16) {
        statuses[status, default: 0] += 1
        if status == 200 { counts[visit.phase].note(visit.tenth, isServed: true) }
        visit.end()
    }

    private func report() -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.beginArray("phases")
        for count in counts {
            writer.beginObject()
            writer.member("seconds", double: count.seconds)
            writer.beginArray("came")
            for value in count.came { writer.element(int: Int64(value)) }
            writer.endArray()
            writer.beginArray("served")
            for value in count.served { writer.element(int: Int64(value)) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.beginObject("statuses")
        for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
            writer.member(named: "\(status)", value: .integer(Int64(count)))
        }
        writer.endObject()
        writer.member("gave_up", int: Int64(gaveUpCount))
        writer.member("lost", int: Int64(lostCount))
        writer.endObject()
        return String(decoding: writer.finish().readable.array, as: UTF8.self)
    }
}
