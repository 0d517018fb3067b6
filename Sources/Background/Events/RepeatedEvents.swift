import Bytes
package import EventLoop

/// Keeps what happens to thousands from being told a thousand times: the same words once a minute,
/// with how often they were left out.
package struct RepeatedEvents: Sendable {
    /// The outcome for one event.
    package enum Turn: Equatable, Sendable {
        case told(String)
        /// Left out: the same was told just now. How often it came is told with it the next time.
        case repeated
        /// Left out: too many of its name were told just now.
        case crowdedOut
    }

    private struct Silence {
        let end: MonotonicInstant
        var leftOutCount = 0
    }

    /// The events of one name that were told lately.
    private struct Share {
        var silences: [String: Silence] = [:]
        var crowdedUntil = MonotonicInstant(nanoseconds: 0)
    }

    private static let interval = Duration.seconds(60)
    /// Words that strangers choose, an address for one, must not make it long.
    private static let countMax = 64
    /// By the names of events: what strangers bring about takes no other event's room.
    private var shares: [String: Share] = [:]

    package init() {}

    /// Whether the event is to be told, and how. `kind`: what counts as the same where the words
    /// differ each time.
    package mutating func turn(
        _ name: StaticString, _ text: String, of kind: String? = nil, at now: MonotonicInstant
    ) -> Turn {
        Self.turn(text, of: kind ?? text, in: &shares[name.description, default: Share()], at: now)
    }

    private static func turn(
        _ text: String, of kind: String, in share: inout Share, at now: MonotonicInstant
    ) -> Turn {
        let silence = share.silences[kind]
        if let silence, now < silence.end {
            share.silences[kind]?.leftOutCount = silence.leftOutCount + 1
            return .repeated
        }
        // Few are ever known, and those that are over are forgotten.
        share.silences = share.silences.filter { now < $0.value.end }
        if share.silences.count >= countMax {
            guard now >= share.crowdedUntil else { return .crowdedOut }
            share.crowdedUntil = now + interval
            return .told("\(text); more events of that kind are left out for a minute")
        }
        share.silences[kind] = Silence(end: now + interval)
        let leftOutCount = silence?.leftOutCount ?? 0
        if leftOutCount == 0 { return .told(text) }
        let times = String(counting: leftOutCount, "more time")
        return .told("\(text); \(times) since this was last reported")
    }
}
