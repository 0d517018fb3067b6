import Bytes
import EventLoop

/// Requests of one turn that are sent to their upstreams together, at its end or when there are
/// eight (`docs/decisions/0008`).
///
/// A write to a peer that sleeps wakes it, and the sender pays more for that than for the rest of
/// the write. A peer that another request has just woken takes the next one for less.
final class Outbox {
    private var connections: [UpstreamConnection] = []
    private var isFlushing = false
    private var check = ReadabilityCheck()
    private let turnEnd: TurnEndHook

    init(loop: EventLoop) {
        turnEnd = TurnEndHook(loop: loop)
        turnEnd.setBody { [unowned self] in flush() }
    }

    /// Has `connection` send its request soon: with the next few, at the latest at the end of the
    /// turn.
    func add(_ connection: UpstreamConnection) {
        addLater(connection)
        if !isFlushing, connections.count >= Self.connectionCountMax { flush() }
    }

    /// Adds a connection like ``add(_:)``, but never sends at once: for more of a request, which
    /// may come while `connection` writes.
    func addLater(_ connection: UpstreamConnection) {
        guard !connection.isInOutbox else { return }
        connection.isInOutbox = true
        connections.append(connection)
        if !isFlushing { turnEnd.schedule() }
    }

    func flush() {
        guard !isFlushing else { return }
        isFlushing = true
        // A request whose connection proves dead is added again, for its retry.
        var index = 0
        while index < connections.count {
            let known = index..<connections.count
            if known.count == 1 {
                send(connections[index])
                index = known.upperBound
                continue
            }
            look(at: known)
            for place in known {
                let connection = connections[place]
                connection.isInOutbox = false
                connection.sendRequest(isQuiet: !check.isReadable(at: place - known.lowerBound))
            }
            index = known.upperBound
        }
        connections.removeFew()
        isFlushing = false
    }

    /// Sends a request that leaves alone.
    private func send(_ connection: UpstreamConnection) {
        connection.isInOutbox = false
        let isReadable = connection.idleDescriptor.map(ReadabilityCheck.isReadable) ?? false
        connection.sendRequest(isQuiet: !isReadable)
    }

    /// Checks if servers have ended idle connections meanwhile, or have sent something unasked: one
    /// system call for all requests that leave together.
    private func look(at places: Range<Int>) {
        check.removeAll()
        for place in places { check.add(connections[place].idleDescriptor) }
        check.run()
    }

    /// The most connections. The first one waits for the verification of the others, some 60 us
    /// each.
    static let connectionCountMax = 8
}
