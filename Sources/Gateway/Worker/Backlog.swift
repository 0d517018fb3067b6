import EventLoop
import TLS

/// How long what a worker reads has waited in the kernel, and whether a request that has waited too
/// long is still served.
///
/// A worker that cannot keep up sees no queue of its own: new connections wait in the listener's,
/// the oldest first, and requests in their sockets. The worker reads the age from TCP_INFO for the
/// first bytes of each connection, and for others every 50 ms. While ages exceed 50 ms it reads the
/// age of every read.
struct Backlog {
    /// The nanoseconds that the bytes which are read just now have waited. 0 if the kernel was not
    /// asked.
    private(set) var waited: UInt64 = 0
    /// The part of ``waited`` in which the worker would have read them. The rest is no sign that it
    /// cannot keep up: the listener or the connection was paused for another bound.
    private var delay: UInt64 = 0
    /// The first and the last time that something had waited too long, without a pause as long as
    /// the bound between two of them.
    private(set) var overdue: (since: MonotonicInstant, until: MonotonicInstant)?
    private var nextLook = MonotonicInstant(nanoseconds: 0)
    private let ask: (Int32) -> UInt64

    /// - Parameter ask: the nanoseconds since bytes last came on a descriptor.
    init(ask: @escaping (Int32) -> UInt64 = Socket.nanosecondsSinceData) { self.ask = ask }

    /// Notes that bytes were read from `transport`, which may hold the head of a request.
    /// ``leave()`` follows once that was begun.
    @inline(__always)
    mutating func enter(_ transport: Transport, isNew: Bool, of worker: Worker) {
        enter(transport.descriptor, heldUntil: transport.heldUntil, isNew: isNew, of: worker)
    }

    /// Notes that bytes came on a descriptor.
    ///
    /// - Parameters:
    ///   - heldUntil: the time before which it was not to be read (``Watch/heldUntil``).
    ///   - isNew: whether they are the first ones of their connection.
    ///   - worker: whose time and settings count.
    @inline(__always)
    mutating func enter(
        _ descriptor: Int32, heldUntil: @autoclosure () -> MonotonicInstant, isNew: Bool,
        of worker: Worker
    ) {
        let now = worker.loop.now
        guard isNew || now >= nextLook else { return }
        waited = ask(descriptor)
        delay = min(waited, now.nanoseconds(since: heldUntil()))
        note(isNew: isNew, bound: worker.site.timeouts.backlog, now: now)
    }

    private mutating func note(isNew: Bool, bound: UInt64, now: MonotonicInstant) {
        if !isNew { nextLook = isLate ? now : now.advanced(byNanoseconds: Self.lookNanoseconds) }
        guard delay > bound else { return }
        let isContinued = overdue.map { now.nanoseconds(since: $0.until) < bound } ?? false
        overdue = (since: isContinued ? overdue?.since ?? now : now, until: now)
    }

    mutating func leave() { (waited, delay) = (0, 0) }

    /// Whether what is read now has waited so long that its client may have left.
    var isLate: Bool { waited >= Self.lateNanoseconds }

    /// Whether what is read now is refused: it has waited for longer than `timeouts.backlog`, and
    /// others have for as long as that. A worker that was held up once serves what has come
    /// meanwhile.
    func refuses(_ worker: Worker) -> Bool {
        refuses(bound: worker.site.timeouts.backlog, now: worker.loop.now)
    }

    private func refuses(bound: UInt64, now: MonotonicInstant) -> Bool {
        guard bound > 0, delay > bound, let overdue else { return false }
        return now.nanoseconds(since: overdue.since) >= bound
    }

    /// A busy worker reads what has come within less, and clients wait for longer.
    static let lateNanoseconds: UInt64 = 50_000_000
    static let lookNanoseconds: UInt64 = 50_000_000
}
