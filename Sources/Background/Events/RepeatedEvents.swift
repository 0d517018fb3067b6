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

    /// The text to log, or nil if it was logged just now.
    package mutating func text(_ text: String, at now: MonotonicInstant) -> String? {
        let silence = silences[text]
        if let silence, now < silence.end {
            silences[text]?.leftOutCount = silence.leftOutCount + 1
            return nil
        }
        // Few are ever known, and those that are over are forgotten.
        silences = silences.filter { now < $0.value.end }
        if silences.count >= Self.countMax {
            guard now >= crowdedUntil else { return nil }
            crowdedUntil = now + Self.interval
            return "\(text); more events of that kind are left out for a minute"
        }
        silences[text] = Silence(end: now + Self.interval)
        let leftOutCount = silence?.leftOutCount ?? 0
        if leftOutCount == 0 { return text }
        return "\(text); \(leftOutCount) more times since this was last reported"
    }
}
