package import Background
import Bytes
import EventLoop
package import JSON
package import KeyStore
package import Policy
import Settings

/// A rollout that moves by itself, as JSON.
package enum RolloutLine {
    /// Writes the members of a rollout. `state`: nil if no gateway has begun it.
    package static func write(
        _ rollout: PlannedRollout, _ state: RolloutState?, to writer: inout JSONWriter
    ) {
        writer.member("rollout", string: rollout.subject.name)
        writer.member("plan", string: rollout.plan.summary)
        guard let state else { return writer.null("percent") }
        writer.member("percent", int: Int64(state.percent))
        writer.member("previous_percent", int: Int64(state.previousPercent))
        writer.member("status", string: state.status.rawValue)
        writer.member("cause", string: state.cause.rawValue)
        writer.member("changed_at", string: time(state.changedAt))
        write("evidence", state.evidence, to: &writer)
        writer.member("counted_since", string: time(state.periodStartedAt))
        write("counted", state.period, to: &writer)
        guard rollout.plan.guard != nil else { return }
        write("guarded", state.window.reduce(RolloutCounts()) { $0 + $1.counts }, to: &writer)
    }

    package static func text(_ rollout: PlannedRollout, _ state: RolloutState?) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        write(rollout, state, to: &writer)
        writer.endObject()
        return String(decoding: writer.finish().readable.array, as: UTF8.self)
    }

    /// The state in a reading. Nil if no gateway has begun the rollout.
    package static func state(
        _ reading: SharedReading, _ rollout: PlannedRollout
    ) throws(StoreError) -> RolloutState? {
        guard let entry = reading.entry else { return nil }
        guard let state = RolloutRecord.decode(entry.value) else {
            throw StoreError(
                "\(rollout.subject.name): written by a version that this one does not know")
        }
        return state
    }

    private static func write(
        _ name: StaticString, _ counts: RolloutCounts, to writer: inout JSONWriter
    ) {
        writer.beginObject(name)
        writer.member("judged", int: Int64(counts.judged))
        writer.member("refused", int: Int64(counts.refused))
        writer.endObject()
    }

    private static func time(_ milliseconds: Int64) -> String {
        WallClock.timestamp(seconds: milliseconds / 1000)
    }
}
