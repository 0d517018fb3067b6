import EventLoop
package import Policy
import Synchronization

/// The share of one rollout, for the request path. The control thread writes it.
package final class RolloutShare: Sendable {
    /// The number that stands for a share that has not been read yet.
    private static let unknown = -1

    private let current = Atomic<Int>(unknown)
    private let latest = Locked<RolloutState?>(nil)

    /// The share in percent. Nil from a fresh start until the registry has been read, because until
    /// then the gateway does not know which clients to refuse.
    package var percent: Int? {
        let percent = current.load(ordering: .relaxed)
        return percent == Self.unknown ? nil : percent
    }

    /// The state that the registry returned last.
    package var state: RolloutState? { latest.withLock { $0 } }

    /// Takes a new state. Returns the state that was followed until now.
    package func follow(_ state: RolloutState) -> RolloutState? {
        current.store(state.percent, ordering: .relaxed)
        return latest.withLock { latest in
            defer { latest = state }
            return latest
        }
    }

    /// Sets the share that held before a reload, until the registry is read.
    package func presume(_ percent: Int) {
        _ = current.compareExchange(
            expected: Self.unknown, desired: percent, ordering: .relaxed)
    }
}

/// The shares of all rollouts of a gateway, one for all reloads.
package final class RolloutRegister: Sendable {
    private let shares = Locked<[String: RolloutShare]>([:])

    package init() {}

    package func shares(of rollouts: [PlannedRollout]) -> [RolloutSubject: RolloutShare] {
        Dictionary(rollouts.map { ($0.subject, share(of: $0)) }) { first, _ in first }
    }

    package func share(of rollout: PlannedRollout) -> RolloutShare {
        shares.withLock { shares in
            if let known = shares[rollout.entryName] { return known }
            let fresh = RolloutShare()
            shares[rollout.entryName] = fresh
            return fresh
        }
    }
}
