/// Takes the events of background work for the operator.
package protocol EventLog: Sendable {
    func event(level: StaticString, _ name: StaticString, _ message: String)
}
