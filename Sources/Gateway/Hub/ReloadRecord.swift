import EventLoop
import Settings

/// The outcome of the last reload, for metrics and pages. The control thread writes it.
final class ReloadRecord: Sendable {
    private struct State {
        var takenAt = WallClock.now().seconds
        var failure: ConfigurationFailure?
    }

    private let state = Locked(State())

    /// The time at which the configuration in force was taken, in seconds since 1970.
    var takenAt: Int64 { state.withLock { $0.takenAt } }

    /// The reason why the last reload was refused; nil if it was taken, or if there was none.
    var failure: ConfigurationFailure? { state.withLock { $0.failure } }

    func taken() { state.withLock { $0 = State() } }

    func failed(_ failure: ConfigurationFailure) { state.withLock { $0.failure = failure } }
}
