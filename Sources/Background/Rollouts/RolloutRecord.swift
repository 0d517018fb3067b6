import Bytes
import JSON
import KeyStore
package import Policy

/// The stored state of a rollout: JSON, so that other versions and people can read it.
package enum RolloutRecord {
    /// The version of the records that this program writes. A later one is left alone.
    private static let form: Int64 = 1

    package static func encode(_ state: RolloutState) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("form", int: form)
        writer.member("percent", int: Int64(state.percent))
        writer.member("previous_percent", int: Int64(state.previousPercent))
        writer.member("status", string: state.status.rawValue)
        writer.member("cause", string: state.cause.rawValue)
        writer.member("changed_at", int: state.changedAt)
        write("evidence", state.evidence, to: &writer)
        writer.member("period_started_at", int: state.periodStartedAt)
        write("period", state.period, to: &writer)
        writer.beginArray("window")
        for slot in state.window {
            writer.element(int: slot.startedAt)
            writer.element(int: slot.counts.judged)
            writer.element(int: slot.counts.refused)
        }
        writer.endArray()
        writer.endObject()
        return writer.finish().readable.array
    }

    private static func write(
        _ name: StaticString, _ counts: RolloutCounts, to writer: inout JSONWriter
    ) {
        writer.beginArray(name)
        writer.element(int: counts.judged)
        writer.element(int: counts.refused)
        writer.endArray()
    }

    /// Decodes a state. Nil if the bytes are no record, or one of a version that this program does
    /// not know.
    package static func decode(_ bytes: [UInt8]) -> RolloutState? {
        guard
            let value = try? JSONValue.parse(
                bytes.span, byteCountMax: SharedWrite.valueByteCountMax),
            value["form"]?.integerValue == form,
            let share = percent(value["percent"]),
            let previousPercent = percent(value["previous_percent"]),
            let status = value["status"]?.stringValue.flatMap(RolloutState.Status.init),
            let cause = value["cause"]?.stringValue.flatMap(RolloutState.Cause.init),
            let changedAt = value["changed_at"]?.integerValue,
            let evidence = pair(value["evidence"]),
            let periodStartedAt = value["period_started_at"]?.integerValue,
            let period = pair(value["period"]), let slots = slots(value["window"])
        else { return nil }
        return RolloutState(
            percent: share, previousPercent: previousPercent, status: status, cause: cause,
            changedAt: changedAt, evidence: evidence, periodStartedAt: periodStartedAt,
            period: period, window: slots)
    }

    private static func percent(_ value: JSONValue?) -> Int? {
        guard let number = value?.integerValue, (0...100).contains(number) else { return nil }
        return Int(number)
    }

    private static func pair(_ value: JSONValue?) -> RolloutCounts? {
        guard let numbers = integers(value), numbers.count == 2 else { return nil }
        return counts(numbers[0], numbers[1])
    }

    private static func counts(_ judged: Int64, _ refused: Int64) -> RolloutCounts? {
        guard refused >= 0, judged >= refused, judged <= countMax else { return nil }
        return RolloutCounts(judged: judged, refused: refused)
    }

    private static func slots(_ value: JSONValue?) -> [RolloutState.Slot]? {
        guard let numbers = integers(value), numbers.count.isMultiple(of: 3),
            numbers.count <= 3 * RolloutState.slotCountMax
        else { return nil }
        var slots: [RolloutState.Slot] = []
        for index in stride(from: 0, to: numbers.count, by: 3) {
            guard let counts = counts(numbers[index + 1], numbers[index + 2]) else { return nil }
            slots.append(RolloutState.Slot(startedAt: numbers[index], counts: counts))
        }
        return slots
    }

    private static func integers(_ value: JSONValue?) -> [Int64]? {
        guard let elements = value?.arrayValue else { return nil }
        let numbers = elements.compactMap(\.integerValue)
        return numbers.count == elements.count ? numbers : nil
    }

    /// The highest count: even a hundred times as much fits in a number.
    private static let countMax: Int64 = 1 << 56
}
