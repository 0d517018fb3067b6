import Bytes
import HTTP
import JSON

/// Reads numbers from the body of an answer while it passes: from one JSON object, or from the
/// events of a stream. It keeps none of the body.
final class AnswerReader {
    private var object: JSONScanner?
    private var events: JSONEventScanner?

    /// Nil for an answer of another media type, or one that is coded.
    init?(_ pointers: [JSONPointer], of head: borrowing ResponseHead, bytes: Span<UInt8>) {
        var type: [UInt8]?
        for field in head.fields {
            switch field.known {
            case .contentType:
                guard type == nil else { return nil }
                type = Self.mediaType(bytes.extracting(field.value))
            case .contentEncoding:
                let coding = bytes.extracting(field.value)
                guard ASCII.equalsIgnoringCase(coding, lowercase: Self.identity) else { return nil }
            default: break
            }
        }
        guard let type else { return nil }
        if type == Self.eventStream {
            events = JSONEventScanner(pointers)
        } else if type == Self.json || type.suffix(Self.jsonSuffix.count) == Self.jsonSuffix[...] {
            let search = JSONScanner.Search(pointers: pointers, stringByteCountMax: 0)
            object = JSONScanner(search, depthMax: JSONScanner.depthLimit)
        } else {
            return nil
        }
    }

    private static let identity = Array("identity".utf8)
    private static let eventStream = Array("text/event-stream".utf8)
    private static let json = Array("application/json".utf8)
    private static let jsonSuffix = Array("+json".utf8)

    /// The media type in lower case, without parameters.
    private static func mediaType(_ value: Span<UInt8>) -> [UInt8] {
        var end = 0
        while end < value.count, value[end] != UInt8(ascii: ";") { end += 1 }
        while end > 0, value[end - 1] == 0x20 || value[end - 1] == 0x09 { end -= 1 }
        return ASCII.lowercased(value.extracting(first: end))
    }

    /// Takes the next bytes of the body.
    func feed(_ bytes: Span<UInt8>) {
        object?.feed(bytes)
        events?.feed(bytes)
    }

    /// The numbers found, in the order of the pointers. Of an object that is not complete there are
    /// none, because a member could come again; of a stream, those of the events so far.
    func finish() -> [JSONNumber?] {
        if let numbers = events?.finish() { return numbers }
        guard let members = try? object?.finish().members else { return [] }
        return members.map { if case .number(let number) = $0 { number } else { nil } }
    }
}
