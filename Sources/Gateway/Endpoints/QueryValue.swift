import Bytes

/// Finds one parameter of a query (`application/x-www-form-urlencoded`).
enum QueryValue {
    /// The decoded value of the first parameter named `name`; nil where absent or badly encoded.
    ///
    /// `+` stays `+`: it is a digit of base64, and clients that mean it rarely encode it.
    static func find(_ name: StaticString, inQueryOf target: Span<UInt8>) -> [UInt8]? {
        for index in target.indices where target[index] == UInt8(ascii: "?") {
            return find(name, in: target.extracting((index + 1)...))
        }
        return nil
    }

    private static func find(_ name: StaticString, in query: Span<UInt8>) -> [UInt8]? {
        let prefix = Array(name.description.utf8) + [UInt8(ascii: "=")]
        var start = 0
        while start <= query.count {
            var end = start
            while end < query.count, query[end] != UInt8(ascii: "&") { end += 1 }
            let parameter = query.extracting(start..<end)
            if parameter.count >= prefix.count,
                ASCII.equals(parameter.extracting(0..<prefix.count), prefix)
            {
                return percentDecoded(parameter.extracting(prefix.count..<parameter.count))
            }
            start = end + 1
        }
        return nil
    }

    private static func percentDecoded(_ text: Span<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%") {
                guard index + 2 < text.count, let high = Hex.value(text[index + 1]),
                    let low = Hex.value(text[index + 2])
                else { return nil }
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

/// The media ranges of an `Accept` value (RFC 9110 section 12.5.1).
enum MediaRanges {
    /// Whether `mediaType` (lower case) is listed by name and not excluded with `q=0`.
    static func contains(_ mediaType: StaticString, in value: Span<UInt8>) -> Bool {
        let wanted = Array(mediaType.description.utf8)
        let text = String(decoding: value.array, as: UTF8.self)
        for range in text.split(separator: ",") {
            let parts = range.split(separator: ";").map(trimmed)
            guard let type = parts.first, type == wanted else { continue }
            let isExcluded = parts.dropFirst().contains { part in
                let weight = String(decoding: part, as: UTF8.self)
                return ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(weight)
            }
            return !isExcluded
        }
        return false
    }

    /// Lower-cased, without the white space around it.
    private static func trimmed(_ part: Substring) -> [UInt8] {
        var bytes = part.utf8.map(ASCII.lowercased)
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return Array(bytes.drop(while: isSpace))
    }
}
