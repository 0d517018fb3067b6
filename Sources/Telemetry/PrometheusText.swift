public import Bytes

/// Writes a scrape in Prometheus' text format 0.0.4.
public struct PrometheusText: ~Copyable {
    /// The `Content-Type` of the scrape's answer.
    public static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    private var buffer = ByteBuffer()

    /// The text of a scrape.
    public static func encode(_ families: MetricFamilies) -> ByteBuffer {
        var text = PrometheusText()
        for family in families.all { text.append(family) }
        return text.finish()
    }

    private consuming func finish() -> ByteBuffer { buffer }

    private mutating func append(_ family: MetricFamily) {
        buffer.append("# HELP ")
        buffer.append(family.name)
        buffer.append(UInt8(0x20))
        appendEscaped(family.help, quoted: false)
        buffer.append("\n# TYPE ")
        buffer.append(family.name)
        switch family.kind {
        case .counter: buffer.append(" counter\n")
        case .gauge: buffer.append(" gauge\n")
        case .histogram: buffer.append(" histogram\n")
        }
        for sample in family.samples {
            switch sample.value {
            case .unsigned(let value):
                appendName(family.name, sample.labels)
                buffer.append(decimal: value)
            case .signed(let value):
                appendName(family.name, sample.labels)
                if value < 0 { buffer.append(UInt8(0x2D)) }
                buffer.append(decimal: value.magnitude)
            case .nanoseconds(let value):
                appendName(family.name, sample.labels)
                DecimalSeconds.append(nanoseconds: value, to: &buffer)
            case .histogram(let snapshot):
                append(snapshot, family.name, sample.labels)
            }
            buffer.append(UInt8(0x0A))
        }
    }

    /// Appends the `_bucket`, `_sum` and `_count` samples of a histogram, without the last line
    /// feed.
    private mutating func append(
        _ snapshot: HistogramSnapshot, _ name: String, _ labels: [MetricFamily.Label]
    ) {
        var cumulative: UInt64 = 0
        let bounds = snapshot.bounds.labels
        for (index, count) in snapshot.bucketCounts.enumerated() {
            cumulative &+= count
            appendName(
                name, suffix: "_bucket", labels,
                bound: index < bounds.count ? bounds[index] : "+Inf")
            buffer.append(decimal: cumulative)
            buffer.append(UInt8(0x0A))
        }
        appendName(name, suffix: "_sum", labels)
        DecimalSeconds.append(nanoseconds: snapshot.sumNanoseconds, to: &buffer)
        buffer.append(UInt8(0x0A))
        appendName(name, suffix: "_count", labels)
        buffer.append(decimal: cumulative)
    }

    /// Appends the family's name, the labels in braces, and a space.
    private mutating func appendName(
        _ name: String, suffix: String = "", _ labels: [MetricFamily.Label], bound: String? = nil
    ) {
        buffer.append(name)
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

    private mutating func appendLabel(_ separator: UInt8, _ label: MetricFamily.Label) {
        buffer.append(separator)
        buffer.append(label.name)
        buffer.append(UInt8(0x3D))
        buffer.append(UInt8(0x22))
        appendEscaped(label.value, quoted: true)
        buffer.append(UInt8(0x22))
    }

    /// Appends text with backslashes and line feeds escaped, and in a label's value also quotation
    /// marks, because they would end the text early.
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
}
