import Bytes

/// The media ranges of an `Accept` value (RFC 9110 section 12.5.1).
public enum MediaRanges {
    /// True if `mediaType` (lower case) is listed by name and not excluded with `q=0`.
    ///
    /// Nothing of the list is kept, because a stranger may send one as long as a head may be.
    public static func contains(_ mediaType: [UInt8], in value: Span<UInt8>) -> Bool {
        var ranges = ListElements(value)
        while let place = ranges.next() {
            let range = value.extracting(place)
            var parts = ListElements(range, separator: ASCIIByte.semicolon)
            guard let type = parts.next(),
                ASCII.equalsIgnoringCase(range.extracting(type), lowercase: mediaType)
            else { continue }
            while let part = parts.next() {
                if isZeroWeight(range.extracting(part)) { return false }
            }
            return true
        }
        return false
    }

    /// True if a parameter is a weight (RFC 9110 section 12.4.2) of zero.
    private static func isZeroWeight(_ part: Span<UInt8>) -> Bool {
        guard (3...7).contains(part.count), ASCII.lowercased(part[0]) == UInt8(ascii: "q"),
            part[1] == UInt8(ascii: "="), part[2] == ASCIIByte.zero
        else { return false }
        for index in 3..<part.count
        where part[index] != (index == 3 ? ASCIIByte.period : ASCIIByte.zero) {
            return false
        }
        return true
    }
}
