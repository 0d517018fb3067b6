import Gateway
import KeyStore

extension CounterAccess {
    /// Embedded counters that have seen nothing.
    static var fresh: CounterAccess { .embedded(EmbeddedCounters(clock: .now())) }
}
