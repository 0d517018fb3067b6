/// The answer to an admin API call, made on another thread.
struct AdministrationAnswer: Sendable {
    var status: UInt16
    var contentType: StaticString = "application/json"
    var body: [UInt8]
    /// The value of the `Link` header to the next page; nil on the last.
    var link: String?
    /// The event-log text about a change; nil if nothing changed.
    var event: String?
    /// The event-log text about a failure; nil if the call succeeded.
    var failure: String?
}
