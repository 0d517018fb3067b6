import EventLoop

/// A request as the pool of its upstream sees it: it asks for a connection, waits for one, and
/// holds one of the upstream's places.
protocol PooledRequest: AnyObject {
    /// Another one once the object stands for another request; 0 between two of them.
    var number: UInt64 { get }
    /// How many connections it was given so far.
    var attemptCount: Int { get }
    /// Whether its turn in the queue has come.
    var isCalled: Bool { get }
    var triedServers: [ServerState] { get }
    /// Whether the upstream may act on it twice (RFC 9110 section 9.2.2).
    var mayRepeat: Bool { get }
    /// Whether all of its body will be at hand for another try.
    var willBeWhole: Bool { get }
    /// What ``BalancePolicy/hashKey`` chooses a server by.
    var balanceKey: UInt64 { get }
    /// Since when the upstream has waited for its client; nil if it does not wait.
    var awaitedClientSince: MonotonicInstant? { get }

    /// A connection is free: it leases one now.
    func wasCalled()
    /// No connection came free in time.
    func waitedTooLong()
    /// The upstream waits for its client from now on.
    func clientIsAwaited(since now: MonotonicInstant)
    /// Another client needs its place.
    func makeRoom()
}
