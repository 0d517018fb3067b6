extension RequestHead {
    /// True if `bytes` begin with a complete head, well-formed or not.
    public static func isWhole(_ bytes: Span<UInt8>) -> Bool {
        var isBegun = false
        var isLineEmpty = false
        for index in bytes.indices {
            switch bytes[index] {
            // Empty lines before a request line do not belong to it (RFC 9112 section 2.2).
            case 0x0A where isBegun && isLineEmpty: return true
            case 0x0A: isLineEmpty = true
            case 0x0D: break
            default: (isBegun, isLineEmpty) = (true, false)
            }
        }
        return false
    }
}
