/// The meaning of a metric's number.
public enum MetricKind: Sendable {
    case counter
    case gauge
    case histogram
}

/// A measured number, in the unit in which it is kept.
public enum MetricValue: Sendable {
    case unsigned(UInt64)
    case signed(Int64)
    /// A duration or a moment, which readers get in seconds.
    case nanoseconds(UInt64)
    case histogram(HistogramSnapshot)
}

/// The samples of one metric.
public struct MetricFamily: Sendable {
    public typealias Label = (name: String, value: String)

    public struct Sample: Sendable {
        public let labels: [Label]
        public let value: MetricValue
    }

    public let name: String
    public let kind: MetricKind
    public let help: String
    public fileprivate(set) var samples: [Sample] = []
}

/// All measurements of one moment, from which ``PrometheusText`` and OTLP are written.
///
/// A family is begun once, with its help and type, and its samples follow. Durations are given in
/// nanoseconds and shown in seconds, Prometheus' base unit.
public struct MetricFamilies: Sendable {
    /// The families in the order in which they were begun.
    public private(set) var all: [MetricFamily] = []
    private var names: Set<String> = []

    public init() {}

    /// Begins a family. A counter's name ends in `_total`, which is added if it is missing.
    public mutating func family(_ name: String, _ kind: MetricKind, help: String) {
        precondition(Self.isName(name), "not a metric's name")
        let name = kind == .counter && !name.hasSuffix("_total") ? name + "_total" : name
        precondition(names.insert(name).inserted, "a metric's family was begun twice")
        all.append(MetricFamily(name: name, kind: kind, help: help))
    }

    /// Adds one sample of the family begun last.
    public mutating func sample(_ labels: [MetricFamily.Label] = [], _ value: UInt64) {
        add(labels, .unsigned(value))
    }

    public mutating func sample(_ labels: [MetricFamily.Label] = [], _ value: Int64) {
        add(labels, .signed(value))
    }

    /// Adds a duration or a moment, shown in seconds.
    public mutating func sample(_ labels: [MetricFamily.Label] = [], nanoseconds: UInt64) {
        add(labels, .nanoseconds(nanoseconds))
    }

    /// Adds the counts of one histogram of a family of histograms.
    public mutating func histogram(
        _ labels: [MetricFamily.Label] = [], _ snapshot: HistogramSnapshot
    ) {
        precondition(all.last?.kind == .histogram)
        add(labels, .histogram(snapshot))
    }

    private mutating func add(_ labels: [MetricFamily.Label], _ value: MetricValue) {
        precondition(!all.isEmpty, "a sample outside a family")
        assert(labels.allSatisfy { Self.isName($0.name) && !$0.name.utf8.contains(0x3A) })
        all[all.count - 1].samples.append(MetricFamily.Sample(labels: labels, value: value))
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x3A: true
            default: false
            }
        }
    }
}
