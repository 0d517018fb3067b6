import EventLoop
import Policy
import Synchronization

/// How far one rollout has come, where the request path reads it. Written by the control thread.
final class RolloutShare: Sendable {
    /// What stands for a share that nobody has read yet.
    private static let unknown = -1

    private let current = Atomic<Int>(unknown)
    private let latest = Locked<RolloutState?>(nil)

    /// Nil from a fresh start until the registry has been read: nobody knows who is refused.
    var percent: Int? {
        let percent = current.load(ordering: .relaxed)
        return percent == Self.unknown ? nil : percent
    }

    /// What the registry said last.
    var state: RolloutState? { latest.withLock { $0 } }

    /// Returns the state followed until now.
    func follow(_ state: RolloutState) -> RolloutState? {
        current.store(state.percent, ordering: .relaxed)
        return latest.withLock { latest in
            defer { latest = state }
            return latest
        }
    }

    /// Stands in until the registry is read: what held before a reload.
    func presume(_ percent: Int) {
        _ = current.compareExchange(
            expected: Self.unknown, desired: percent, ordering: .relaxed)
    }
}

/// The shares of all rollouts of a gateway, one for all reloads.
final class RolloutRegister: Sendable {
    private let shares = Locked<[String: RolloutShare]>([:])

    func shares(of courses: [RolloutCourse]) -> [RolloutSubject: RolloutShare] {
        Dictionary(courses.map { ($0.subject, share(of: $0)) }) { first, _ in first }
    }

    func share(of course: RolloutCourse) -> RolloutShare {
        shares.withLock { shares in
            if let known = shares[course.entryName] { return known }
            let fresh = RolloutShare()
            shares[course.entryName] = fresh
            return fresh
        }
    }
}
