import Bytes
import JSON
import OTLP
import Telemetry
import Testing

@Suite("OTLP in JSON")
struct EncodingTests {}

extension EncodingTests {
    private static let resource = OTLPResource([("service.name", "a\"b"), ("host.name", "h")])

    private static func compact(_ text: String) -> String {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
    }

    @Test("metrics: sums, gauges and histograms as proto3's JSON has them")
    func metrics() {
        var families = MetricFamilies()
        families.family("a_requests", .counter, help: "Requests.")
        families.sample([("route", "x\"\n"), ("class", "2xx")], 7 as UInt64)
        families.sample([], UInt64.max)
        families.family("a_empty", .gauge, help: "Nothing.")
        families.family("a_connections", .gauge, help: "Open.")
        families.sample([], -3 as Int64)
        families.family("a_age_seconds", .gauge, help: "Age.")
        families.sample([], nanoseconds: 1_500_000_000)
        families.family("a_cpu_seconds_total", .counter, help: "CPU.")
        families.sample([], nanoseconds: 250_000_000)
        families.family("a_memory_bytes", .gauge, help: "Memory.")
        families.sample([], 4096 as UInt64)
        families.family("a_wait_seconds", .histogram, help: "Waits.")
        let histogram = Histogram(HistogramBounds(nanoseconds: [500_000, 1_000_000_000]))
        for nanoseconds: UInt64 in [500_000, 500_001, 2_000_000_000] {
            histogram.record(nanoseconds: nanoseconds)
        }
        var snapshot = HistogramSnapshot(histogram.bounds)
        snapshot.add(histogram)
        families.histogram([("store", "r")], snapshot)
        let body = OTLPMetrics.encode(
            families, of: Self.resource, version: "1.2", startedAt: 5, at: 1_700_000_000_000_000_001
        )
        let times = #""startTimeUnixNano":"5","timeUnixNano":"1700000000000000001""#
        let now = #""timeUnixNano":"1700000000000000001""#
        #expect(
            String(decoding: body, as: UTF8.self)
                == Self.compact(
                    #"""
                    {"resourceMetrics":[{"resource":{"attributes":[
                    {"key":"service.name","value":{"stringValue":"a\"b"}},
                    {"key":"host.name","value":{"stringValue":"h"}}]},
                    "scopeMetrics":[{"scope":{"name":"sallyport","version":"1.2"},"metrics":[
                    {"name":"a_requests_total","description":"Requests.",
                    "sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
                    {"attributes":[{"key":"route","value":{"stringValue":"x\"\n"}},
                    {"key":"class","value":{"stringValue":"2xx"}}],\#(times),"asInt":"7"},
                    {"attributes":[],\#(times),"asInt":"9223372036854775807"}]}},
                    {"name":"a_connections","description":"Open.",
                    "gauge":{"dataPoints":[{"attributes":[],\#(now),"asInt":"-3"}]}},
                    {"name":"a_age_seconds","description":"Age.","unit":"s",
                    "gauge":{"dataPoints":[{"attributes":[],\#(now),"asDouble":1.5}]}},
                    {"name":"a_cpu_seconds_total","description":"CPU.","unit":"s",
                    "sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
                    {"attributes":[],\#(times),"asDouble":0.25}]}},
                    {"name":"a_memory_bytes","description":"Memory.","unit":"By",
                    "gauge":{"dataPoints":[{"attributes":[],\#(now),"asInt":"4096"}]}},
                    {"name":"a_wait_seconds","description":"Waits.","unit":"s",
                    "histogram":{"aggregationTemporality":2,"dataPoints":[
                    {"attributes":[{"key":"store","value":{"stringValue":"r"}}],\#(times),
                    "count":"3","sum":2.001000001,"bucketCounts":["1","1","1"],
                    "explicitBounds":[0.0005,1.0]}]}}]}]}]}
                    """#))
    }

    private static func header(
        parentID: UInt64?, kind: SpanHeader.Kind = .server, isError: Bool = false
    ) -> SpanHeader {
        SpanHeader(
            traceID: Bytes16(word0: 0x4BF9_2F35_77B3_4DA6, word1: 0xA3CE_929D_0E0E_4736),
            spanID: 0xF067_AA0B_A902_B7, parentID: parentID, kind: kind, flags: 1,
            isParentRemote: kind == .server && parentID != nil,
            startedAt: 1_700_000_000_000_000_000, endedAt: 1_700_000_000_000_000_009,
            isError: isError)
    }

    @Test("spans: ids in hexadecimal digits, times and whole numbers as text")
    func spans() {
        var writer = SpanWriter()
        writer.begin(Self.header(parentID: 0x1F), name: "GET", route: "/api/*")
        let path = Array("/a\"\\\u{1}/\u{2028}".utf8) + [0xFF]
        writer.attribute("url.path", bytes: path.span)
        writer.attribute("http.response.status_code", number: 200)
        writer.attribute("url.scheme", constant: "https")
        writer.end()
        writer.begin(
            Self.header(parentID: nil, kind: .client, isError: true), name: "HTTP", route: nil)
        writer.attribute("error.type", string: "503")
        writer.end()
        #expect(writer.spanCount == 2)
        let first = writer.take()
        #expect(first.spanCount == 2 && writer.spanCount == 0 && writer.byteCount == 0)
        writer.begin(Self.header(parentID: nil), name: "PUT", route: nil)
        writer.end()
        let body = OTLPSpans.encode(
            [first, writer.take()], of: OTLPResource([]), version: "")
        let trace = #""traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7""#
        let times =
            #""startTimeUnixNano":"1700000000000000000","#
            + #""endTimeUnixNano":"1700000000000000009""#
        #expect(
            String(decoding: body, as: UTF8.self)
                == Self.compact(
                    #"""
                    {"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[
                    {"scope":{"name":"sallyport"},"spans":[
                    {\#(trace),"parentSpanId":"000000000000001f","flags":769,
                    "name":"GET /api/*","kind":2,\#(times),"attributes":[
                    {"key":"url.path","value":{"stringValue":"/a\"\\\u0001/\u2028\#u{FFFD}"}},
                    {"key":"http.response.status_code","value":{"intValue":"200"}},
                    {"key":"url.scheme","value":{"stringValue":"https"}}]},
                    {\#(trace),"flags":257,"name":"HTTP","kind":3,\#(times),"status":{"code":2},
                    "attributes":[{"key":"error.type","value":{"stringValue":"503"}}]},
                    {\#(trace),"flags":257,"name":"PUT","kind":2,\#(times),"attributes":[]}
                    ]}]}]}
                    """#))
    }

    @Test("a span never ends before it begins, whatever the clock did")
    func clock() throws {
        var header = Self.header(parentID: nil)
        header.endedAt = 3
        var writer = SpanWriter()
        writer.begin(header, name: "GET", route: nil)
        writer.end()
        let body = OTLPSpans.encode([writer.take()], of: OTLPResource([]), version: "")
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.contains(#""endTimeUnixNano":"1700000000000000000""#))
    }
}
