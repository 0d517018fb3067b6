import Attestation
import Bytes
import EventLoop
import JSON
import Judgement

/// `/refusals.json`: the last requests that were refused, or would have been, with causes in words.
enum RefusalsDocument {
    static let format: Int64 = 1

    /// All refusals, the newest first.
    static func list(_ hub: Hub) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", int: format)
        writer.member("count_max", int: Int64(RecentRefusals.countMax))
        writer.beginArray("refusals")
        for record in records(hub) {
            writer.beginObject()
            write(record, &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.finish().readable.array
    }

    /// The records, the newest first.
    static func records(_ hub: Hub) -> [RefusalRecord] {
        RecentRefusals.merged(hub.refusals.map(\.records)).reversed()
    }

    /// The refusal of a request; nil if it is not known any more. Every worker's list is searched;
    /// together they hold more refusals than the document shows.
    static func one(_ requestID: [UInt8], _ hub: Hub) -> [UInt8]? {
        let found = hub.refusals.lazy.flatMap(\.records)
            .filter { $0.requestID.elementsEqual(requestID) }
            .max { ($0.seconds, $0.nanoseconds) < ($1.seconds, $1.nanoseconds) }
        guard let found else { return nil }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", int: format)
        writer.beginObject("refusal")
        write(found, &writer)
        writer.endObject()
        writer.endObject()
        return writer.finish().readable.array
    }

    private static func write(_ record: RefusalRecord, _ writer: inout JSONWriter) {
        var time = ByteBuffer(capacity: 32)
        WallClock.appendTimestamp(
            seconds: record.seconds, nanoseconds: record.nanoseconds, to: &time)
        writer.member("time", bytes: time.readable)
        writer.member("request_id", bytes: record.requestID.span)
        writer.member("client", string: record.clientText)
        if let route = record.route { writer.member("route", string: route) }
        let parts: [(StaticString, ArraySlice<UInt8>)] = [
            ("method", record.method), ("host", record.host), ("path", record.path),
            ("user_agent", record.userAgent),
        ]
        for (name, value) in parts where !value.isEmpty {
            writer.member(name, bytes: value.span)
        }
        if let app = record.app { writer.member("app", string: app) }
        if let platform = record.platform { writer.member("platform", string: platform.text) }
        if let version = record.version { writer.member("app_version", string: version) }
        if let environment = record.environment {
            writer.member("environment", string: environment.rawValue)
        }
        if let key = record.key { writer.member("key", string: key) }
        writer.member("status", int: Int64(record.status))
        writer.member("duration_ms", double: Double(record.durationNanoseconds / 1000) / 1000)
        writer.member("decision", constant: record.decision.name)
        writer.member("reason", constant: record.reason.code)
        if let detail = record.detail { writer.member("detail", string: detail) }
        if let action = record.action { writer.member("action", string: action.rawValue) }
        guard let explanation = record.explanation else { return }
        writer.member("fault", string: explanation.fault.rawValue)
        writer.member("fault_text", string: explanation.fault.words)
        writer.member("meaning", string: explanation.meaning)
        writer.member("remedy", string: explanation.remedy)
    }
}

extension RefusalRecord {
    var explanation: CauseExplanation? {
        CauseExplanation.find(reason: reason.code.description, detail: detail)
    }

    var clientText: String {
        guard let client else { return "unknown" }
        return client.isUnix ? "unix" : client.ipText
    }
}
