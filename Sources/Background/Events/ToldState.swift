import EventLoop

/// A state that the operator is told of each time it changes.
struct ToldState<State: Equatable> {
    /// The event that tells a state.
    struct Event {
        let level: StaticString
        let name: StaticString
        let text: String
        /// What counts as the same event if it comes again within a minute, and is then left out.
        /// Nil for an event that is told each time.
        var kind: String?
    }

    private var state: State
    private var repeated = RepeatedEvents()
    private let log: any EventLog

    /// Nothing is told of the first state.
    init(_ state: State, log: any EventLog) {
        self.state = state
        self.log = log
    }

    /// Takes the next state, and tells `event` if it is not the one before.
    mutating func change(to next: State, at now: MonotonicInstant, _ event: () -> Event) {
        guard next != state else { return }
        state = next
        let event = event()
        guard let kind = event.kind else {
            return log.event(level: event.level, event.name, event.text)
        }
        log.event(
            level: event.level, event.name,
            repeated.turn(event.name, event.text, of: kind, at: now))
    }
}
