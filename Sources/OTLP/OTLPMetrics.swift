import Bytes
import JSON
public import Telemetry

/// Writes metrics as the body of a request to `/v1/metrics`: an `ExportMetricsServiceRequest` in
/// OTLP's JSON encoding.
///
/// Counters are cumulative sums since `startedAt`. Names are those of Prometheus, so that
/// dashboards and rules can use either.
public enum OTLPMetrics {
    public static func encode(
        _ families: MetricFamilies, of resource: OTLPResource, version: String,
        startedAt: UInt64, at now: UInt64
    ) -> [UInt8] {
        let times = Times(startedAt: startedAt, now: now)
        return OTLPEnvelope.metrics.encode(of: resource, version: version) { writer in
            for family in families.all where !family.samples.isEmpty {
                write(family, times, to: &writer)
            }
        }
    }

    private struct Times {
        let startedAt: UInt64
        let now: UInt64
    }

    private static func write(
        _ family: MetricFamily, _ times: Times, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("name", string: family.name)
        writer.member("description", string: family.help)
        if let unit = unit(of: family.name) { writer.member("unit", constant: unit) }
        switch family.kind {
        case .counter: writer.beginObject("sum")
        case .gauge: writer.beginObject("gauge")
        case .histogram: writer.beginObject("histogram")
        }
        if family.kind != .gauge { writer.member("aggregationTemporality", int: cumulative) }
        if family.kind == .counter { writer.member("isMonotonic", bool: true) }
        writer.beginArray("dataPoints")
        for sample in family.samples {
            writer.beginObject()
            writer.beginArray("attributes")
            for (name, value) in sample.labels { writer.attribute(name, value) }
            writer.endArray()
            if family.kind != .gauge {
                writer.member("startTimeUnixNano", quoted: times.startedAt)
            }
            writer.member("timeUnixNano", quoted: times.now)
            write(sample.value, to: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        writer.endObject()
    }

    private static func write(_ value: MetricValue, to writer: inout JSONWriter) {
        switch value {
        case .unsigned(let number):
            // The field is a signed 64-bit number.
            writer.member("asInt", quoted: min(number, UInt64(Int64.max)))
        case .signed(let number): writer.member("asInt", string: String(number))
        case .nanoseconds(let number): writer.member("asDouble", double: seconds(number))
        case .histogram(let snapshot):
            writer.member("count", quoted: snapshot.count)
            writer.member("sum", double: seconds(snapshot.sumNanoseconds))
            writer.beginArray("bucketCounts")
            for count in snapshot.bucketCounts { writer.element(quoted: count) }
            writer.endArray()
            writer.beginArray("explicitBounds")
            for bound in snapshot.bounds.nanoseconds { writer.element(double: seconds(bound)) }
            writer.endArray()
        }
    }

    private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }

    /// The unit in UCUM; Prometheus has it in the name.
    private static func unit(of name: String) -> StaticString? {
        let name = name.hasSuffix("_total") ? name.dropLast("_total".count) : name[...]
        if name.hasSuffix("_seconds") { return "s" }
        return name.hasSuffix("_bytes") ? "By" : nil
    }

    /// The number of AGGREGATION_TEMPORALITY_CUMULATIVE, because OTLP's JSON has numbers for
    /// enumerations.
    private static let cumulative: Int64 = 2
}
