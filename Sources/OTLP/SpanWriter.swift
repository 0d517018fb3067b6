public import Bytes
import JSON

/// The parts of a span beside its attributes.
public struct SpanHeader: Sendable {
    /// The kind of a span, by the numbers of OTLP's `SpanKind`.
    public enum Kind: Int64, Sendable {
        case server = 2
        case client = 3
    }

    public var traceID: Bytes16
    public var spanID: UInt64
    /// Nil for the first span of a trace.
    public var parentID: UInt64?
    public var kind: Kind
    /// The flags of `traceparent`.
    public var flags: UInt8
    /// True if the parent is in another process.
    public var isParentRemote: Bool
    /// The start, in nanoseconds since 1970.
    public var startedAt: UInt64
    public var endedAt: UInt64
    public var isError: Bool

    public init(
        traceID: Bytes16, spanID: UInt64, parentID: UInt64?, kind: Kind, flags: UInt8,
        isParentRemote: Bool, startedAt: UInt64, endedAt: UInt64, isError: Bool
    ) {
        self.traceID = traceID
        self.spanID = spanID
        self.parentID = parentID
        self.kind = kind
        self.flags = flags
        self.isParentRemote = isParentRemote
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.isError = isError
    }
}

/// Finished spans, encoded, with commas between them.
public struct SpanBatch: Sendable {
    public let bytes: [UInt8]
    public let spanCount: Int

    public init(bytes: [UInt8], spanCount: Int) {
        self.bytes = bytes
        self.spanCount = spanCount
    }
}

/// Writes spans in OTLP's JSON encoding, one after another: each is begun, gets its attributes and
/// is ended.
public struct SpanWriter: ~Copyable {
    private var writer = JSONWriter()
    public private(set) var spanCount = 0

    public init() {}

    public var byteCount: Int { writer.buffer.count }

    /// Takes out the spans so far.
    public mutating func take() -> SpanBatch {
        let batch = SpanBatch(bytes: writer.buffer.readable.array, spanCount: spanCount)
        writer.reset()
        spanCount = 0
        return batch
    }

    /// Begins a span with the name `name`, followed by `route` if there is one.
    public mutating func begin(_ header: SpanHeader, name: StaticString, route: String?) {
        if spanCount > 0 { writer.raw(",") }
        spanCount += 1
        writer.beginObject()
        writer.member("traceId", digitsOf: header.traceID)
        writer.member("spanId", digitsOf: header.spanID)
        if let parentID = header.parentID { writer.member("parentSpanId", digitsOf: parentID) }
        // SpanFlags: it is known if the parent is remote, and this says if it is.
        let remote: Int64 = header.isParentRemote ? 0x300 : 0x100
        writer.member("flags", int: remote | Int64(header.flags))
        writer.member("name", string: route.map { "\(name) \($0)" } ?? "\(name)")
        writer.member("kind", int: header.kind.rawValue)
        writer.member("startTimeUnixNano", quoted: header.startedAt)
        // The clock may have been set back meanwhile.
        writer.member("endTimeUnixNano", quoted: max(header.startedAt, header.endedAt))
        if header.isError {
            writer.beginObject("status")
            writer.member("code", int: Self.statusError)
            writer.endObject()
        }
        writer.beginArray("attributes")
    }

    public mutating func end() {
        writer.endArray()
        writer.endObject()
    }

    // MARK: attributes

    public mutating func attribute(_ key: StaticString, bytes: Span<UInt8>) {
        writer.attribute(key, bytes: bytes)
    }

    public mutating func attribute(_ key: StaticString, constant: StaticString) {
        writer.attribute(key, constant: constant)
    }

    public mutating func attribute(_ key: StaticString, string: String) {
        writer.attribute(key, string: string)
    }

    public mutating func attribute(_ key: StaticString, number: UInt64) {
        writer.attribute(key, number: number)
    }

    public mutating func attribute(named key: String, number: UInt64) {
        writer.attribute(named: key, number: number)
    }

    /// The number of STATUS_CODE_ERROR.
    private static let statusError: Int64 = 2
}

/// Writes batches of spans as the body of a request to `/v1/traces`: an
/// `ExportTraceServiceRequest` in OTLP's JSON encoding.
public enum OTLPSpans {
    public static func encode(
        _ batches: [SpanBatch], of resource: OTLPResource, version: String
    ) -> [UInt8] {
        OTLPEnvelope.spans.encode(of: resource, version: version) { writer in
            for (index, batch) in batches.enumerated() {
                if index > 0 { writer.raw(",") }
                writer.raw(batch.bytes.span)
            }
        }
    }
}
