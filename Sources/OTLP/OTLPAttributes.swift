import Bytes
import JSON

/// The program and the process that spans and metrics are attributed to: attributes of the
/// resource.
public struct OTLPResource: Sendable {
    public var attributes: [(key: String, value: String)]

    public init(_ attributes: [(key: String, value: String)]) { self.attributes = attributes }

    func write(to writer: inout JSONWriter) {
        writer.beginObject("resource")
        writer.beginArray("attributes")
        for (key, value) in attributes { writer.attribute(key, value) }
        writer.endArray()
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func attribute(_ key: String, _ value: String) {
        beginObject()
        member("key", string: key)
        beginObject("value")
        member("stringValue", string: value)
        endObject()
        endObject()
    }

    mutating func attribute(_ key: StaticString, bytes: Span<UInt8>) {
        beginAttribute(key)
        member("stringValue", bytes: bytes)
        endAttribute()
    }

    mutating func attribute(_ key: StaticString, string: String) {
        beginAttribute(key)
        member("stringValue", string: string)
        endAttribute()
    }

    mutating func attribute(_ key: StaticString, constant: StaticString) {
        beginAttribute(key)
        member("stringValue", constant: constant)
        endAttribute()
    }

    mutating func attribute(_ key: StaticString, number: UInt64) {
        beginAttribute(key)
        member("intValue", quoted: number)
        endAttribute()
    }

    mutating func attribute(named key: String, number: UInt64) {
        beginObject()
        member("key", string: key)
        beginObject("value")
        member("intValue", quoted: number)
        endAttribute()
    }

    private mutating func beginAttribute(_ key: StaticString) {
        beginObject()
        member("key", constant: key)
        beginObject("value")
    }

    private mutating func endAttribute() {
        endObject()
        endObject()
    }

    /// Writes the instrumentation scope, which is this program.
    mutating func writeScope(version: String) {
        beginObject("scope")
        member("name", constant: "sallyport")
        if !version.isEmpty { member("version", string: version) }
        endObject()
    }
}
