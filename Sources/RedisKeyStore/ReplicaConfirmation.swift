import EventLoop
import Redis

/// Holds accepted requests until replicas have their counters, or until that has taken too long.
/// One `WAIT` is enough for all requests answered before it, because later commands of a connection
/// wait behind it.
///
/// Too few replicas are counted and delay no request: the counter is used and the challenge spent
/// on the master, and what a failover would lose is refused by its incarnation anyway.
final class ReplicaConfirmation {
    private let wait: RedisWait?
    private let connection: () -> RedisConnection?
    private var held: [() -> Void] = []
    private var isWaiting = false
    private let turnEnd: TurnEndHook
    /// Called with the number of requests that went on without enough replicas.
    var onUnconfirmed: ((Int) -> Void)?

    init(loop: EventLoop, wait: RedisWait?, connection: @escaping () -> RedisConnection?) {
        self.wait = wait
        self.connection = connection
        turnEnd = TurnEndHook(loop: loop)
        turnEnd.setBody { [unowned self] in ask() }
    }

    deinit { for release in held { release() } }

    /// `release` is called once.
    func hold(_ release: @escaping () -> Void) {
        held.append(release)
        if !isWaiting { turnEnd.schedule() }
    }

    private func ask() {
        guard let wait, !isWaiting, !held.isEmpty else { return }
        let batch = held
        held = []
        guard let connection = connection() else { return settle(batch, false) }
        isWaiting = true
        var command = RedisCommand("WAIT")
        command.append(wait.replicaCount)
        command.append(max(1, wait.timeout.wholeMilliseconds))
        connection.send(command) { [weak self] outcome in
            var isConfirmed = false
            if case .reply(.integer(let count)) = outcome {
                isConfirmed = count >= wait.replicaCount
            }
            guard let self else { return batch.forEach { $0() } }
            isWaiting = false
            settle(batch, isConfirmed)
            if !held.isEmpty { turnEnd.schedule() }
        }
    }

    private func settle(_ batch: [() -> Void], _ isConfirmed: Bool) {
        if !isConfirmed { onUnconfirmed?(batch.count) }
        for release in batch { release() }
    }
}

extension Duration {
    /// Milliseconds, rounded down and not negative.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(max(seconds, 0)) * 1000 + Int(max(attoseconds, 0) / 1_000_000_000_000_000)
    }
}
