/// Takes the events of background work for the operator.
package protocol EventLog: Sendable {
    func event(level: StaticString, _ name: StaticString, _ message: String)

    /// Counts an event that is not logged, because the same was a moment ago.
    func leftOut(_ name: StaticString)
}
