/// The value of Host.
public enum RequestHost {
    /// True for a value that requests may have: `host [ ":" port ]` of RFC 3986.
    public static func isValid(_ bytes: Span<UInt8>) -> Bool { Authority.isValid(bytes) }

    /// The number of bytes of a valid value that come before its port.
    public static func nameByteCount(_ bytes: Span<UInt8>) -> Int {
        let isAddress = !bytes.isEmpty && bytes[0] == ASCIIByte.leftBracket
        let end = isAddress ? ASCIIByte.rightBracket : ASCIIByte.colon
        for index in bytes.indices where bytes[index] == end {
            return isAddress ? index + 1 : index
        }
        return bytes.count
    }
}
