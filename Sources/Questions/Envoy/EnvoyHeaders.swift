import Bytes
import Protobuf

/// Headers in the messages of Envoy's API: `envoy.config.core.v3`.
enum EnvoyHeaders {
    /// Parses a `HeaderMap`.
    static func readMap(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ProtobufError) -> [AskedRequest.Field] {
        var fields: [AskedRequest.Field] = []
        var reader = ProtobufReader(range)
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            fields.append(try readPair(bytes, try field.bytes(), valueNumbers: 2...3))
        }
        return fields
    }

    /// Parses a `HeaderValue`, whose value is a string (2) or bytes (3); or an entry of a map of
    /// strings.
    static func readPair(
        _ bytes: Span<UInt8>, _ range: Range<Int>, valueNumbers: ClosedRange<Int>
    ) throws(ProtobufError) -> AskedRequest.Field {
        var name: Range<Int>?
        var value: Range<Int>?
        var reader = ProtobufReader(range)
        while let field = try reader.next(in: bytes) {
            if field.number == 1 {
                try once(&name, field)
            } else if valueNumbers.contains(field.number) {
                try once(&value, field)
            }
        }
        return AskedRequest.Field(
            name: bytes.extracting(name ?? 0..<0).array,
            value: bytes.extracting(value ?? 0..<0).array)
    }

    /// Notes the place of a field that may be there only once.
    static func once(
        _ place: inout Range<Int>?, _ field: ProtobufField
    ) throws(ProtobufError) {
        guard place == nil else { throw .repeated }
        place = try field.bytes()
    }

    /// Separates HTTP/2's pseudo-headers from the headers.
    static func split(
        _ fields: [AskedRequest.Field]
    ) throws(ProtobufError) -> (pseudo: [[UInt8]: [UInt8]], fields: [AskedRequest.Field]) {
        var pseudo: [[UInt8]: [UInt8]] = [:]
        var regular: [AskedRequest.Field] = []
        for field in fields {
            if field.name.first != UInt8(ascii: ":") {
                regular.append(field)
            } else if pseudo.updateValue(field.value, forKey: field.name) != nil {
                throw .repeated
            }
        }
        return (pseudo, regular)
    }
}

extension ProtobufWriter {
    /// Writes `HeaderValueOption`s that replace existing headers.
    mutating func headers(_ number: Int, _ headers: [EnvoyHeader], isRaw: Bool) {
        for header in headers {
            message(number) { option in
                option.message(1) { pair in
                    pair.bytes(1, header.name)
                    pair.bytes(isRaw ? 3 : 2, header.value)
                }
                // OVERWRITE_IF_EXISTS_OR_ADD
                option.number(3, 2)
            }
        }
    }
}

/// A header that Envoy must set.
public typealias EnvoyHeader = (name: [UInt8], value: [UInt8])
