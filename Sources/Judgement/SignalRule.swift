/// The rule that raises a signal, and its consequence: compiled from the configuration.
package final class SignalRule: Sendable {
    package enum Action: Sendable {
        /// The signal is counted and told to the upstream.
        case observe
        /// The request also counts against a rate limit.
        case limit
        case deny
    }

    package let signal: Signal
    /// The signal's name for log, metrics and upstreams.
    package let name: String
    /// Counts above it raise the signal.
    package let countMax: Int
    package let action: Action

    package init(_ signal: Signal, name: String, countMax: Int, _ action: Action) {
        self.signal = signal
        self.name = name
        self.countMax = countMax
        self.action = action
    }
}
