import Bytes
package import EventLoop

/// Keeps what happens to thousands from being told a thousand times: the same words once a minute,
/// with how often they were left out.
package struct RepeatedEvents: Sendable {
    private struct Silence {
        let end: MonotonicInstant
        var leftOutCount = 0
    }

    private static let interval = Duration.seconds(60)
    /// Words that strangers choose, an address for one, must not make it long.
    private static let countMax = 64
    private var silences: [String: Silence] = [:]
    private var crowdedUntil = MonotonicInstant(nanoseconds: 0)

    package init() {}

    /// The text to log, or nil if it was logged just now. `kind`: what counts as the same where
    /// the words differ each time.
    package mutating func text(
        _ text: String, of kind: String? = nil, at now: MonotonicInstant
    ) -> String? {
        let kind = kind ?? text
        let silence = silences[kind]
        if let silence, now < silence.end {
            silences[kind]?.leftOutCount = silence.leftOutCount + 1
            return nil
        }
        // Few are ever known, and those that are over are forgotten.
        silences = silences.filter { now < $0.value.end }
        if silences.count >= Self.countMax {
            guard now >= crowdedUntil else { return nil }
            crowdedUntil = now + Self.interval
            return "\(text); more events of that kind are left out for a minute"
        }
        silences[kind] = Silence(end: now + Self.interval)
        let leftOutCount = silence?.leftOutCount ?? 0
        if leftOutCount == 0 { return text }
        let times = String(counting: leftOutCount, "more time")
        return "\(text); \(times) since this was last reported"
    }
}
