public import Bytes

/// The meaning of a metric's number to Prometheus.
public enum MetricKind: Sendable {
    case counter
    case gauge
    case histogram
}

/// Writes a scrape in Prometheus' text format 0.0.4.
///
/// A family is begun once, with its help and type, and its samples follow; durations are given in
/// nanoseconds and shown in seconds, Prometheus' base unit.
public struct PrometheusText: ~Copyable {
    public typealias Label = (name: String, value: String)

    /// The `Content-Type` of the scrape's answer.
    public static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    public private(set) var buffer = ByteBuffer()
    private var family: [UInt8] = []
    private var kind = MetricKind.gauge
    private var familyNames: Set<[UInt8]> = []

    public init() {}

    /// Begins a family; a counter's name ends in `_total`, which is added where it is missing.
    public mutating func family(_ name: String, _ kind: MetricKind, help: String) {
        var name = Array(name.utf8)
        precondition(Self.isName(name), "not a metric's name")
        if kind == .counter, !name.reversed().starts(with: "latot_".utf8) {
            name += Array("_total".utf8)
        }
        precondition(familyNames.insert(name).inserted, "a metric's family was begun twice")
        family = name
        self.kind = kind
        buffer.append("# HELP ")
        buffer.append(name)
        buffer.append(UInt8(0x20))
        appendEscaped(help, quoted: false)
        buffer.append("\n# TYPE ")
        buffer.append(name)
        switch kind {
        case .counter: buffer.append(" counter\n")
        case .gauge: buffer.append(" gauge\n")
        case .histogram: buffer.append(" histogram\n")
        }
    }

    /// Writes one sample of the family begun last.
    public mutating func sample(_ labels: [Label] = [], _ value: UInt64) {
        appendName(suffix: "", labels, bound: nil)
        buffer.append(decimal: value)
        buffer.append(UInt8(0x0A))
    }

    public mutating func sample(_ labels: [Label] = [], _ value: Int64) {
        appendName(suffix: "", labels, bound: nil)
        if value < 0 { buffer.append(UInt8(0x2D)) }
        buffer.append(decimal: value.magnitude)
        buffer.append(UInt8(0x0A))
    }

    /// A duration or a moment, shown in seconds.
    public mutating func sample(_ labels: [Label] = [], nanoseconds: UInt64) {
        appendName(suffix: "", labels, bound: nil)
        DecimalSeconds.append(nanoseconds: nanoseconds, to: &buffer)
        buffer.append(UInt8(0x0A))
    }

    /// The `_bucket`, `_sum` and `_count` samples of a family of histograms.
    public mutating func histogram(_ labels: [Label] = [], _ snapshot: HistogramSnapshot) {
        precondition(kind == .histogram)
        var cumulative: UInt64 = 0
        for (index, count) in snapshot.bucketCounts.enumerated() {
            cumulative &+= count
            let bounds = snapshot.bounds.labels
            appendName(
                suffix: "_bucket", labels, bound: index < bounds.count ? bounds[index] : "+Inf")
            buffer.append(decimal: cumulative)
            buffer.append(UInt8(0x0A))
        }
        appendName(suffix: "_sum", labels, bound: nil)
        DecimalSeconds.append(nanoseconds: snapshot.sumNanoseconds, to: &buffer)
        buffer.append(UInt8(0x0A))
        appendName(suffix: "_count", labels, bound: nil)
        buffer.append(decimal: cumulative)
        buffer.append(UInt8(0x0A))
    }

    /// Gives the text away.
    public consuming func finish() -> ByteBuffer { buffer }

    /// The family's name, the labels in braces, and a space.
    private mutating func appendName(suffix: String, _ labels: [Label], bound: String?) {
        precondition(!family.isEmpty, "a sample outside a family")
        buffer.append(family)
        buffer.append(suffix)
        var separator: UInt8 = 0x7B
        for label in labels {
            appendLabel(separator, label)
            separator = 0x2C
        }
        if let bound {
            appendLabel(separator, ("le", bound))
            separator = 0x2C
        }
        if separator == 0x2C { buffer.append(UInt8(0x7D)) }
        buffer.append(UInt8(0x20))
    }

    private mutating func appendLabel(_ separator: UInt8, _ label: Label) {
        assert(Self.isName(Array(label.name.utf8)) && !label.name.utf8.contains(0x3A))
        buffer.append(separator)
        buffer.append(label.name)
        buffer.append(UInt8(0x3D))
        buffer.append(UInt8(0x22))
        appendEscaped(label.value, quoted: true)
        buffer.append(UInt8(0x22))
    }

    /// Backslashes and line feeds, in a label's value quotes too, would end the text early.
    private mutating func appendEscaped(_ text: String, quoted: Bool) {
        for byte in text.utf8 {
            switch byte {
            case 0x5C:
                buffer.append(UInt8(0x5C))
                buffer.append(UInt8(0x5C))
            case 0x0A:
                buffer.append(UInt8(0x5C))
                buffer.append(UInt8(0x6E))
            case 0x22 where quoted:
                buffer.append(UInt8(0x5C))
                buffer.append(UInt8(0x22))
            default: buffer.append(byte)
            }
        }
    }

    private static func isName(_ name: [UInt8]) -> Bool {
        guard let first = name.first, !(0x30...0x39).contains(first) else { return false }
        return name.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x3A: true
            default: false
            }
        }
    }
}
