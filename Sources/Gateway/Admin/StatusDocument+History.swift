import Attestation
import EventLoop
import JSON
import Judgement
import Telemetry

/// The counts of one object over the slots of a range, by column.
private struct HistoryColumns {
    let slots: [ArraySlice<UInt32>]

    func values(_ column: Int) -> [Int64] { slots.map { Int64($0[$0.startIndex + column]) } }

    /// The durations of each slot whose buckets begin at a column.
    func durations(from column: Int, _ bounds: HistogramBounds) -> [HistogramSnapshot] {
        slots.compactMap { slot in
            let counts = slot.dropFirst(column).map { UInt64($0) }
            return HistogramSnapshot(bounds, bucketCounts: counts)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func array(_ name: StaticString, _ values: [Int64]) {
        beginArray(name)
        for value in values { element(int: value) }
        endArray()
    }

    /// Writes durations: the 50th, 90th and 99th percentile of each slot in milliseconds, null for
    /// a slot without any.
    fileprivate mutating func durations(_ snapshots: [HistogramSnapshot]) {
        array("count", snapshots.map { Int64(clamping: $0.count) })
        for (name, share) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)]
            as [(StaticString, Double)]
        {
            beginArray(name)
            for snapshot in snapshots {
                element(
                    snapshot.quantile(share).map { .number(($0 / 1000).rounded() / 1000) } ?? .null)
            }
            endArray()
        }
    }

    /// Writes the buckets that are not empty.
    fileprivate mutating func buckets(_ columns: HistoryColumns, from first: Int) {
        beginObject("buckets")
        for bucket in RequestBucket.allCases {
            let values = columns.values(first + Int(bucket.rawValue))
            if values.contains(where: { $0 > 0 }) { array(bucket.name, values) }
        }
        endObject()
    }
}

extension StatusDocument {
    func writeHistory(_ range: HistoryRange, _ writer: inout JSONWriter) {
        let start = WallClock.milliseconds(of: wall) - history.age(of: range, at: instant)
        writer.beginObject("history")
        writer.member("range", string: range.rawValue)
        writer.member("step_s", int: Int64(range.minutesPerSlot) * 60)
        writer.member("start", string: WallClock.timestamp(seconds: start / 1000))
        writer.member("start_ms", int: start)
        writer.member("slots", int: Int64(range.slotCount(at: history.minute)))
        writer.member("slots_max", int: Int64(range.slotCount))
        writeWhole(range, &writer)
        writeRoutes(range, &writer)
        writeVersions(range, &writer)
        writeUpstreams(range, &writer)
        writeStores(range, &writer)
        writeFailures(range, &writer)
        writer.member("left_out", int: Int64(history.leftOutCount))
        writer.endObject()
    }

    private func writeWhole(_ range: HistoryRange, _ writer: inout JSONWriter) {
        typealias Column = StatusHistory.GatewayColumn
        let names: [(StaticString, Column)] = [
            ("challenges", .attestChallenges), ("attested", .attested),
            ("first_assertions", .firstAssertions), ("verified", .verified),
        ]
        let columns = HistoryColumns(
            slots: history.gateway.slots(StatusHistory.whole, range, at: history.minute))
        writer.beginObject("funnel")
        for (name, column) in names { writer.array(name, columns.values(column.rawValue)) }
        writePlatforms(range, &writer)
        writer.endObject()
        writer.beginObject("verification")
        writer.durations(
            columns.durations(from: Column.allCases.count, SignatureTimes.bounds))
        writer.endObject()
    }

    /// Writes the steps after the challenge, which names no platform.
    private func writePlatforms(_ range: HistoryRange, _ writer: inout JSONWriter) {
        writer.beginArray("platforms")
        for platform in history.platforms.names.sorted(by: { $0.text < $1.text }) {
            let columns = HistoryColumns(
                slots: history.platforms.slots(platform, range, at: history.minute))
            writer.beginObject()
            writer.member("platform", string: platform.text)
            for column in StatusHistory.PlatformColumn.steps(of: platform) {
                writer.array(column.name, columns.values(column.rawValue))
            }
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeRoutes(_ range: HistoryRange, _ writer: inout JSONWriter) {
        typealias Column = StatusHistory.RouteColumn
        let names: [(StaticString, Column)] = [
            ("requests", .ended), ("refused", .refused), ("would_be_refused", .wouldBeRefused),
            ("server_errors", .serverErrors),
        ]
        writer.beginArray("routes")
        for name in history.routes.names.sorted() {
            let columns = HistoryColumns(
                slots: history.routes.slots(name, range, at: history.minute))
            writer.beginObject()
            writer.member("name", string: name)
            for (name, column) in names { writer.array(name, columns.values(column.rawValue)) }
            writer.buckets(columns, from: Column.allCases.count)
            writer.beginObject("duration")
            writer.durations(
                columns.durations(
                    from: Column.allCases.count + RequestBucket.allCases.count,
                    .requestDuration))
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeVersions(_ range: HistoryRange, _ writer: inout JSONWriter) {
        writer.beginArray("versions")
        for name in history.versions.names.sorted(by: {
            ($0.app, $0.version) < ($1.app, $1.version)
        }) {
            let columns = HistoryColumns(
                slots: history.versions.slots(name, range, at: history.minute))
            writer.beginObject()
            writer.member("app", string: name.app)
            writer.member("platform", string: name.platform.text)
            writer.member("version", string: name.version)
            writer.buckets(columns, from: 0)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeUpstreams(_ range: HistoryRange, _ writer: inout JSONWriter) {
        typealias Column = StatusHistory.UpstreamColumn
        writer.beginArray("upstreams")
        for name in history.upstreams.names.sorted() {
            let columns = HistoryColumns(
                slots: history.upstreams.slots(name, range, at: history.minute))
            writer.beginObject()
            writer.member("name", string: name)
            writer.array("requests", columns.values(Column.requests.rawValue))
            writer.array("failures", columns.values(Column.failures.rawValue))
            writer.beginObject("duration")
            writer.durations(columns.durations(from: Column.allCases.count, .requestDuration))
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeStores(_ range: HistoryRange, _ writer: inout JSONWriter) {
        writer.beginArray("stores")
        for name in history.stores.names.sorted() {
            let columns = HistoryColumns(
                slots: history.stores.slots(name, range, at: history.minute))
            writer.beginObject()
            writer.member("name", string: name)
            writer.beginObject("duration")
            writer.durations(columns.durations(from: 0, .storeDuration))
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }
}
