import Foundation
public import JSON

/// A stand-in for an OpenTelemetry collector: it keeps what is exported to it by OTLP over HTTP,
/// and answers as a test says.
public final class RecordingCollector: Sendable {
    public let server: RecordingUpstream

    public init(
        port: UInt16 = 0,
        _ script: @escaping RecordingUpstream.Script = { _ in .response(body: "{}") }
    ) throws {
        server = try RecordingUpstream(port: port, script)
    }

    /// The entry of a configuration; `more` are further keys.
    public func setting(_ more: String = "") -> String {
        Self.setting(endpoint: "http://127.0.0.1:\(server.port)", more)
    }

    public static func setting(endpoint: String, _ more: String = "") -> String {
        "otlp: { endpoint: \"\(endpoint)\"\(more.isEmpty ? "" : ", \(more)") }"
    }

    /// One span as it was sent.
    public struct Span: Sendable {
        public let json: JSONValue

        /// An attribute that is a text or a whole number.
        public subscript(_ key: String) -> String? {
            let attribute = json["attributes"]?.arrayValue?.first { $0["key"]?.stringValue == key }
            let value = attribute?["value"]
            return (value?["stringValue"] ?? value?["intValue"])?.stringValue
        }

        public func text(_ name: String) -> String? { json[name]?.stringValue }
        public var isServer: Bool { json["kind"]?.integerValue == 2 }
        public var isError: Bool { json["status"]?["code"]?.integerValue == 2 }
        public func nanoseconds(_ name: String) -> UInt64 { text(name).flatMap { UInt64($0) } ?? 0 }
    }

    /// The requests for one signal, `traces` or `metrics`.
    public func requests(_ signal: String) -> [RecordingUpstream.Request] {
        server.requests.filter { $0.target.hasSuffix("/v1/\(signal)") }
    }

    /// Every span so far, as often as it came.
    public func spans() throws -> [Span] {
        try requests("traces").flatMap { request in
            try Self.parts(
                request, ["resourceSpans", "scopeSpans", "spans"]
            ).map { Span(json: $0) }
        }
    }

    /// Waits until there is what `find` looks for in the spans.
    public func waitForSpans<Result>(_ find: ([Span]) throws -> Result?) throws -> Result {
        while true {
            let count = server.requests.count
            if let found = try find(try spans()) { return found }
            try server.waitForRequests(count + 1)
        }
    }

    /// Waits for an export of metrics in which `find` finds something; `start` are left out.
    public func waitForMetrics<Result>(
        from start: Int = 0, _ find: ([String: JSONValue]) throws -> Result?
    ) throws -> Result {
        var seenCount = start
        while true {
            let count = server.requests.count
            for request in requests("metrics").dropFirst(seenCount) {
                seenCount += 1
                if let found = try find(try Self.metrics(request)) { return found }
            }
            try server.waitForRequests(count + 1)
        }
    }

    /// The metrics of one export, by their names.
    public static func metrics(
        _ request: RecordingUpstream.Request
    ) throws -> [String: JSONValue] {
        let metrics = try parts(request, ["resourceMetrics", "scopeMetrics", "metrics"])
        return Dictionary(uniqueKeysWithValues: metrics.map { ($0["name"]?.stringValue ?? "", $0) })
    }

    private static func parts(
        _ request: RecordingUpstream.Request, _ path: [String]
    ) throws -> [JSONValue] {
        let body = try JSONValue.parse(request.message.bodyText)
        return path.reduce([body]) { values, name in
            values.flatMap { $0[name]?.arrayValue ?? [] }
        }
    }
}
