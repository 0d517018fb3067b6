import EventLoop

/// Decides if a fetched revocation list is believed.
///
/// A list that is empty, has ten times as many entries as the one in force, or less than half as
/// many, is more likely a fault of its server than the truth: an empty one lets every leaked key
/// in, a long one can revoke every phone. It is taken all the same once the server has said the
/// like for ``patience``, because such a change may be meant.
struct RevocationJudge {
    /// The time for which an implausible list has to be repeated. Long enough for an operator, or
    /// the server's, to see and mend it, and short beside the time for which the old list counts.
    static let patience = Duration.seconds(6 * 3600)
    private static let growthMax = 10
    private static let shrinkingMax = 2

    /// The implausible list that was seen last, and the time since when its like is seen.
    private var held: (count: Int, since: MonotonicInstant)?

    enum Verdict {
        case taken
        /// Not taken. `isNews`: the operator has not been told of it.
        case held(reason: String, isNews: Bool)
    }

    /// `known`: the number of entries of the list in force, from the same source; nil if there is
    /// none. An empty list is never believed at once.
    mutating func judge(_ count: Int, after known: Int?, at now: MonotonicInstant) -> Verdict {
        guard let reason = Self.doubt(count, after: known) else {
            held = nil
            return .taken
        }
        guard let before = held, Self.isAlike(count, before.count) else {
            held = (count, now)
            return .held(reason: reason, isNews: true)
        }
        guard now - before.since >= Self.patience else {
            held = (count, before.since)
            return .held(reason: reason, isNews: false)
        }
        held = nil
        return .taken
    }

    mutating func forget() { held = nil }

    /// The reason not to believe a list; nil if there is none.
    private static func doubt(_ count: Int, after known: Int?) -> String? {
        guard let known, known > 0 else { return count == 0 ? "the list is empty" : nil }
        guard count > 0 else { return "the list is empty, and the one in force has \(known)" }
        return isAlike(count, known)
            ? nil : "the list has \(count) entries, and the one in force \(known)"
    }

    private static func isAlike(_ count: Int, _ known: Int) -> Bool {
        guard count > 0, known > 0 else { return count == known }
        return count < known * growthMax && count * shrinkingMax >= known
    }
}
