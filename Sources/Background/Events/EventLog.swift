/// Takes the events of background work for the operator.
package protocol EventLog: Sendable {
    func event(level: StaticString, _ name: StaticString, _ message: String)

    /// Counts an event that is not logged. `isOwed`: no later line will say how many these were.
    func leftOut(_ name: StaticString, isOwed: Bool)
}

extension EventLog {
    /// Logs an event that repeats itself, or counts it.
    package func event(
        level: StaticString, _ name: StaticString, _ turn: RepeatedEvents.Turn
    ) {
        switch turn {
        case .told(let message): event(level: level, name, message)
        case .repeated: leftOut(name, isOwed: false)
        case .crowdedOut: leftOut(name, isOwed: true)
        }
    }
}
