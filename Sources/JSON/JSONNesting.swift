/// Bounds the nesting of a text before the recursive parser sees it.
///
/// jansson's own bound is 2048 levels, which is more stack than a worker should lend to a client.
enum JSONNesting {
    static func isWithin(_ depthMax: Int, _ bytes: Span<UInt8>) -> Bool {
        // A flat object has one bracket, so counting brackets, which vectorises, usually settles
        // it.
        openingCount(bytes) <= depthMax || exactDepth(bytes, stopAbove: depthMax) <= depthMax
    }

    private static func openingCount(_ bytes: Span<UInt8>) -> Int {
        var count = 0
        // `[` and `{` differ in one bit only.
        for index in bytes.indices where bytes[index] | 0x20 == 0x7B { count &+= 1 }
        return count
    }

    /// Follows the text as the parser does up to the parser's first error, and perhaps beyond.
    private static func exactDepth(_ bytes: Span<UInt8>, stopAbove depthMax: Int) -> Int {
        var depth = 0
        var deepest = 0
        var isInString = false
        var index = 0
        while index < bytes.count, deepest <= depthMax {
            switch bytes[index] {
            case 0x22: isInString.toggle()
            // The escaped byte is skipped, because it may be a quotation mark.
            case 0x5C where isInString: index += 1
            case 0x5B where !isInString, 0x7B where !isInString:
                depth += 1
                deepest = max(deepest, depth)
            case 0x5D where !isInString, 0x7D where !isInString: depth -= 1
            default: break
            }
            index += 1
        }
        return deepest
    }
}
