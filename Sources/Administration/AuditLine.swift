import Bytes
import EventLoop
package import JSON
package import KeyStore

/// An entry of the audit log as JSON.
package enum AuditLine {
    package static func text(_ entry: AuditEntry) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        write(entry, to: &writer)
        writer.endObject()
        return String(decoding: writer.finish().readable.array, as: UTF8.self)
    }

    /// Writes the members of an entry.
    package static func write(_ entry: AuditEntry, to writer: inout JSONWriter) {
        writer.member("number", int: entry.number)
        writer.member("time", string: time(entry))
        writer.member("way", string: entry.author.way.rawValue)
        writer.member("who", string: entry.author.name)
        writer.member("from", string: entry.author.origin)
        writer.member("action", string: entry.note.action)
        if !entry.note.subject.isEmpty { writer.member("subject", string: entry.note.subject) }
        writer.member("outcome", string: entry.note.outcome)
        if !entry.note.detail.isEmpty { writer.member("detail", string: entry.note.detail) }
        writer.member("request_id", string: entry.author.requestID)
    }

    package static func time(_ entry: AuditEntry) -> String {
        WallClock.timestamp(seconds: entry.milliseconds / 1000)
    }
}
