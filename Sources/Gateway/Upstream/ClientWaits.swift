import EventLoop

/// Exchanges that occupy a place of one upstream while they wait for their own clients to take an
/// answer or to send more of a body, in the order in which that began.
final class ClientWaits {
    private struct Entry {
        let request: any PooledRequest
        /// An request that has ended and was used again has another number.
        let number: UInt64
        let since: MonotonicInstant

        var lasts: Bool {
            request.number == number && request.awaitedClientSince == since
        }
    }

    private let loop: EventLoop
    private var entries: [Entry] = []
    /// The index of the first entry. Entries before it are gone; the array is cut only now and
    /// then.
    private var first = 0
    /// The number of entries at which those that are over are thrown away.
    private var entryCountMax = keptCountMin

    init(loop: EventLoop) { self.loop = loop }

    /// The upstream waits for the client of `request` from now on.
    func begin(_ request: any PooledRequest) {
        let now = loop.now
        request.clientIsAwaited(since: now)
        if entries.count >= entryCountMax {
            entries.removeFirst(first)
            first = 0
            entries.removeAll { !$0.lasts }
            entryCountMax = max(Self.keptCountMin, entries.count * 2)
        }
        entries.append(Entry(request: request, number: request.number, since: now))
    }

    /// Ends the request that has waited longest for its client, and long enough, so that another
    /// has its place. False if none has.
    func letGo() -> Bool {
        while first < entries.count, !entries[first].lasts { first += 1 }
        guard first < entries.count, entries[first].since + Self.patience <= loop.now else {
            return false
        }
        let request = entries[first].request
        first += 1
        request.makeRoom()
        return true
    }

    /// The time for which a client may be silent while other requests get no place at all: many
    /// times what a network takes to deliver, and shorter than a user waits.
    static let patience = Duration.seconds(1)
    private static let keptCountMin = 64
}
