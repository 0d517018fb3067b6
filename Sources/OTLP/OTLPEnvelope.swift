import Bytes
import JSON

/// The envelope of spans and of metrics on their way to a collector, which names their source.
public struct OTLPEnvelope: Sendable {
    private let resources: StaticString
    private let scopes: StaticString
    private let items: StaticString

    /// The envelope `ExportTraceServiceRequest`.
    public static let spans = OTLPEnvelope(
        resources: "resourceSpans", scopes: "scopeSpans", items: "spans")
    /// The envelope `ExportMetricsServiceRequest`.
    public static let metrics = OTLPEnvelope(
        resources: "resourceMetrics", scopes: "scopeMetrics", items: "metrics")

    /// A request without spans or metrics.
    public var empty: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.beginArray(resources)
        writer.endArray()
        writer.endObject()
        return writer.finish().readable.array
    }

    /// A request that holds the spans or metrics that `write` writes.
    func encode(
        of resource: OTLPResource, version: String, _ write: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.beginArray(resources)
        writer.beginObject()
        resource.write(to: &writer)
        writer.beginArray(scopes)
        writer.beginObject()
        writer.writeScope(version: version)
        writer.beginArray(items)
        write(&writer)
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        return writer.finish().readable.array
    }
}
