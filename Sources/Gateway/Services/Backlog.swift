import EventLoop
import TLS

/// The time for which the bytes that a worker reads have waited in the kernel, and the rule for
/// requests that have waited too long.
///
/// A worker that cannot keep up sees no queue of its own: new connections wait in the listener's
/// queue, the oldest first, and requests in their sockets. The worker reads the age from TCP_INFO
/// for the first bytes of each connection, and for others every 50 ms. While ages exceed 50 ms it
/// reads the age of every read.
struct Backlog {
    /// The nanoseconds that the bytes being read have waited. 0 if the kernel was not asked.
    private(set) var waited: UInt64 = 0
    /// The part of ``waited`` in which the worker could have read them. The rest is no sign that it
    /// cannot keep up, because the listener or the connection was paused for another limit.
    private var delay: UInt64 = 0
    /// The first and the last time that bytes had waited too long, without a pause as long as the
    /// limit between two such times.
    private(set) var overdue: (since: MonotonicInstant, until: MonotonicInstant)?
    private var nextLook = MonotonicInstant(nanoseconds: 0)
    private let ask: (Int32) -> UInt64

    /// - Parameter ask: the nanoseconds since bytes last came on a descriptor.
    init(ask: @escaping (Int32) -> UInt64 = Socket.nanosecondsSinceData) { self.ask = ask }

    /// Notes that bytes were read from `transport`, which may hold the head of a request.
    /// ``leave()`` follows once the request was begun.
    @inline(__always)
    mutating func enter(_ transport: Transport, isNew: Bool, of services: WorkerServices) {
        enter(transport.descriptor, heldUntil: transport.heldUntil, isNew: isNew, of: services)
    }

    /// Notes that bytes came on a descriptor.
    ///
    /// - Parameters:
    ///   - heldUntil: the time before which the descriptor was not to be read
    ///     (``Watch/heldUntil``).
    ///   - isNew: true if they are the first bytes of their connection.
    ///   - services: the services whose time and settings count.
    @inline(__always)
    mutating func enter(
        _ descriptor: Int32, heldUntil: @autoclosure () -> MonotonicInstant, isNew: Bool,
        of services: WorkerServices
    ) {
        let now = services.loop.now
        guard isNew || now >= nextLook else { return }
        waited = ask(descriptor)
        delay = min(waited, now.nanoseconds(since: heldUntil()))
        note(isNew: isNew, bound: services.site.timeouts.backlog, now: now)
    }

    private mutating func note(isNew: Bool, bound: UInt64, now: MonotonicInstant) {
        if !isNew { nextLook = isLate ? now : now.advanced(byNanoseconds: Self.lookNanoseconds) }
        guard delay > bound else { return }
        let isContinued = overdue.map { now.nanoseconds(since: $0.until) < bound } ?? false
        overdue = (since: isContinued ? overdue?.since ?? now : now, until: now)
    }

    mutating func leave() { (waited, delay) = (0, 0) }

    /// True if the bytes being read have waited so long that their client may have left.
    var isLate: Bool { waited >= Self.lateNanoseconds }

    /// True if the request being read is refused: it has waited for longer than `timeouts.backlog`,
    /// and others have waited too long for as long as that. A worker that was delayed only once
    /// serves the requests that have come meanwhile.
    func refuses(_ services: WorkerServices) -> Bool {
        refuses(bound: services.site.timeouts.backlog, now: services.loop.now)
    }

    private func refuses(bound: UInt64, now: MonotonicInstant) -> Bool {
        guard bound > 0, delay > bound, let overdue else { return false }
        return now.nanoseconds(since: overdue.since) >= bound
    }

    /// The age from which bytes are late. A busy worker reads them sooner, and clients wait for
    /// longer.
    static let lateNanoseconds: UInt64 = 50_000_000
    static let lookNanoseconds: UInt64 = 50_000_000
}
