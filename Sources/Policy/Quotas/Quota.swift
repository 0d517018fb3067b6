public import JSON

/// What one subject may use in one calendar period.
public struct Quota: Hashable, Sendable {
    /// The senders that share a count.
    public enum Subject: String, Sendable, CaseIterable {
        case key, user, address, app, installation
    }

    /// What is counted.
    public enum Measure: Hashable, Sendable {
        /// Requests that are forwarded. They are counted before they are sent.
        case requests
        /// The bytes of answers' bodies, as they come from the upstream.
        case responseBytes
        /// A number in the answer: in its JSON body, or in the events of an event stream, of which
        /// the last one that has the number counts.
        case json(JSONPointer)
    }

    public var name: String
    public var subject: Subject
    public var period: QuotaPeriod
    /// The most that may be used in a period, at least 1.
    public var limit: Int
    public var measure: Measure
    /// The charge for an answer without the number that ``Measure/json(_:)`` asks for.
    public var missingCharge: Int

    public init(
        name: String, subject: Subject, period: QuotaPeriod, limit: Int, measure: Measure,
        missingCharge: Int = 0
    ) {
        self.name = name
        self.subject = subject
        self.period = period
        self.limit = limit
        self.measure = measure
        self.missingCharge = missingCharge
    }
}
