import Bytes
import Telemetry
import Testing

@Suite("A scrape")
struct PrometheusTextTests {}

extension PrometheusTextTests {
    @Test("names each family once and shows its samples")
    func families() {
        var families = MetricFamilies()
        families.family("sallyport_requests", .counter, help: "Requests.")
        families.sample([("route", "transfer"), ("decision", "verified")], 7 as UInt64)
        families.sample([("route", "rest"), ("decision", "passed")], UInt64.max)
        families.family("sallyport_accepted_total", .counter, help: "Accepted.")
        families.sample([], 1 as UInt64)
        families.family("sallyport_connections", .gauge, help: "Open.")
        families.sample([], -3 as Int64)
        families.family("sallyport_uptime_seconds", .gauge, help: "Since the start.")
        families.sample([], nanoseconds: 1_500_000_000)
        let buffer = PrometheusText.encode(families)
        let written = String(decoding: buffer.readable.array, as: UTF8.self)
        #expect(
            written == """
                # HELP sallyport_requests_total Requests.
                # TYPE sallyport_requests_total counter
                sallyport_requests_total{route="transfer",decision="verified"} 7
                sallyport_requests_total{route="rest",decision="passed"} 18446744073709551615
                # HELP sallyport_accepted_total Accepted.
                # TYPE sallyport_accepted_total counter
                sallyport_accepted_total 1
                # HELP sallyport_connections Open.
                # TYPE sallyport_connections gauge
                sallyport_connections -3
                # HELP sallyport_uptime_seconds Since the start.
                # TYPE sallyport_uptime_seconds gauge
                sallyport_uptime_seconds 1.5

                """)
    }

    @Test("reads back as it was written, whatever the labels hold")
    func readBack() throws {
        let values = ["", "a b", "q\"q", "b\\n", "l\nl", "\\\"\n", "ü, x=\"y\"}"]
        var families = MetricFamilies()
        families.family("m", .gauge, help: "one \\ two\nthree \"four\"")
        for (index, value) in values.enumerated() {
            families.sample([("a", value), ("b", "x")], UInt64(index))
        }
        let buffer = PrometheusText.encode(families)
        let lines = String(decoding: buffer.readable.array, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "# HELP m one \\\\ two\\nthree \"four\"")
        #expect(lines.last == "")
        let samples = try lines.dropFirst(2).dropLast().map { try ScrapedSample($0) }
        #expect(samples.map(\.value) == (0..<values.count).map { String($0) })
        #expect(samples.map { $0.labels["a"] } == values)
        #expect(samples.allSatisfy { $0.name == "m" && $0.labels["b"] == "x" })
    }

    @Test("shows a histogram as growing buckets, a sum and a count")
    func histogram() throws {
        let first = Histogram(.requestDuration)
        let second = Histogram(.requestDuration)
        for nanoseconds: UInt64 in [0, 500_000, 500_001, 60_000_000_000] {
            first.record(nanoseconds: nanoseconds)
        }
        second.record(nanoseconds: 61_000_000_000)
        var snapshot = HistogramSnapshot(.requestDuration)
        snapshot.add(first)
        snapshot.add(second)
        #expect(snapshot.count == 5)
        var families = MetricFamilies()
        families.family("d_seconds", .histogram, help: "Durations.")
        families.histogram([("route", "r")], snapshot)
        let buffer = PrometheusText.encode(families)
        let samples = try String(decoding: buffer.readable.array, as: UTF8.self)
            .split(separator: "\n").dropFirst(2).map { try ScrapedSample($0) }
        #expect(samples.allSatisfy { $0.labels["route"] == "r" })
        let buckets = samples.filter { $0.name == "d_seconds_bucket" }
        #expect(buckets.count == 17)
        let values = Dictionary(
            uniqueKeysWithValues: buckets.map { ($0.labels["le"] ?? "", $0.value) })
        #expect(values["0.0005"] == "2")
        #expect(values["0.001"] == "3")
        #expect(values["2.5"] == "3")
        #expect(values["60"] == "4")
        #expect(values["+Inf"] == "5")
        #expect(samples.first { $0.name == "d_seconds_sum" }?.value == "121.001000001")
        #expect(samples.first { $0.name == "d_seconds_count" }?.value == "5")
    }
}

/// One sample line, read by the rules of the text format.
private struct ScrapedSample {
    struct Malformed: Error {}

    var name = ""
    var labels: [String: String] = [:]
    var value = ""

    init(_ line: Substring) throws {
        var rest = line
        name = String(rest.prefix { $0 != "{" && $0 != " " })
        rest = rest.dropFirst(name.count)
        if rest.first == "{" {
            repeat {
                rest = rest.dropFirst()
                let label = rest.prefix { $0 != "=" }
                rest = rest.dropFirst(label.count + 1)
                labels[String(label)] = try Self.quoted(&rest)
            } while rest.first == ","
            guard rest.first == "}" else { throw Malformed() }
            rest = rest.dropFirst()
        }
        guard rest.first == " " else { throw Malformed() }
        value = String(rest.dropFirst())
    }

    private static func quoted(_ rest: inout Substring) throws -> String {
        guard rest.popFirst() == "\"" else { throw Malformed() }
        var text = ""
        while let character = rest.popFirst() {
            if character == "\"" { return text }
            guard character == "\\" else {
                text.append(character)
                continue
            }
            switch rest.popFirst() {
            case "n": text.append("\n")
            case "\\": text.append("\\")
            case "\"": text.append("\"")
            default: throw Malformed()
            }
        }
        throw Malformed()
    }
}
