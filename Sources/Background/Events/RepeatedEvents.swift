import Bytes
package import EventLoop

/// Keeps an event that happens to thousands of clients from being logged a thousand times: the same
/// words are logged once a minute, with the number of times that they were left out.
package struct RepeatedEvents: Sendable {
    /// The outcome for one event.
    package enum Turn: Equatable, Sendable {
        case told(String)
        /// Left out, because the same was logged just now. The next time its count is logged with
        /// it.
        case repeated
        /// Left out, because too many events of this name were logged just now.
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
    /// The most different texts. Strangers choose some of the words, such as an address, and must
    /// not make the list long.
    private static let countMax = 64
    /// The shares by the names of events, so that strangers' events take no other event's room.
    private var shares: [String: Share] = [:]

    package init() {}

    /// The outcome for an event. `kind`: the part that identifies it if the words differ each time.
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
        // There are few at a time, and those that are over are forgotten.
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
