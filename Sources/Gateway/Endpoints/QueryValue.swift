import Bytes

/// The reason why a parameter has no value.
enum QueryFault: Error, Equatable {
    /// There is a `%` without two hexadecimal digits, in the parameter or in any parameter's name.
    case badlyEncoded
    case repeated
}

/// Finds one parameter of a query (`application/x-www-form-urlencoded`).
enum QueryValue {
    /// The decoded value of the parameter named `name`, empty if it has none; nil if there is no
    /// such parameter.
    ///
    /// `+` stays `+`, because it is a digit of base64 and clients that mean it rarely encode it.
    static func find(
        _ name: StaticString, inQueryOf target: Span<UInt8>
    ) throws(QueryFault) -> [UInt8]? {
        for index in target.indices where target[index] == UInt8(ascii: "?") {
            return try find(name, in: target.extracting((index + 1)...))
        }
        return nil
    }

    private static func find(
        _ name: StaticString, in query: Span<UInt8>
    ) throws(QueryFault) -> [UInt8]? {
        let wanted = Array(name.description.utf8)
        var found: [UInt8]?
        var start = 0
        while start <= query.count {
            var nameEnd = start
            while nameEnd < query.count, !isEnd(query[nameEnd], ofName: true) { nameEnd += 1 }
            var end = nameEnd
            while end < query.count, !isEnd(query[end], ofName: false) { end += 1 }
            // A name means the same in its encoded form.
            if try percentDecoded(query.extracting(start..<nameEnd)) == wanted {
                guard found == nil else { throw .repeated }
                let valueStart = min(nameEnd + 1, end)
                found = try percentDecoded(query.extracting(valueStart..<end))
            }
            start = end + 1
        }
        return found
    }

    private static func isEnd(_ byte: UInt8, ofName isName: Bool) -> Bool {
        byte == UInt8(ascii: "&") || isName && byte == UInt8(ascii: "=")
    }

    static func percentDecoded(
        _ text: Span<UInt8>
    ) throws(QueryFault) -> [UInt8] {
        var decoded: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%") {
                guard index + 2 < text.count, let high = Hex.value(text[index + 1]),
                    let low = Hex.value(text[index + 2])
                else { throw .badlyEncoded }
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(text[index])
                index += 1
            }
        }
        return decoded
    }
}
