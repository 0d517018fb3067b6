/// The first byte of an item and its argument (RFC 8949 section 3).
struct CBORHead {
    enum Major: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, simple
    }

    let major: Major
    /// The value, length or count; for `simple` the value itself.
    let argument: UInt64
    let byteCount: Int
}

extension Span where Element == UInt8 {
    /// Reads the head at `offset`. Accepts only the deterministic encoding (RFC 8949 section
    /// 4.2.1): the shortest form, definite lengths; and of simple values only false, true and null.
    func cborHead(at offset: Int) throws(CBORError) -> CBORHead {
        guard offset < count else { throw CBORError(.truncated, at: offset) }
        let initial = self[offset]
        guard let major = CBORHead.Major(rawValue: initial >> 5) else {
            throw CBORError(.reserved, at: offset)
        }
        let information = initial & 0x1F
        switch major {
        case .tag: throw CBORError(.tag, at: offset)
        case .simple:
            guard information < 25 else {
                throw CBORError(information < 28 ? .float : .reserved, at: offset)
            }
            guard information >= 20, information <= 22 else {
                throw CBORError(.simpleValue, at: offset)
            }
            return CBORHead(major: major, argument: UInt64(information), byteCount: 1)
        default: break
        }
        guard information >= 24 else {
            return CBORHead(major: major, argument: UInt64(information), byteCount: 1)
        }
        guard information < 28 else {
            throw CBORError(information == 31 ? .indefiniteLength : .reserved, at: offset)
        }
        let argumentByteCount = 1 << Int(information - 24)
        guard count - offset - 1 >= argumentByteCount else {
            throw CBORError(.truncated, at: offset)
        }
        var argument: UInt64 = 0
        for index in offset + 1..<offset + 1 + argumentByteCount {
            argument = argument << 8 | UInt64(self[index])
        }
        // A value that fits in half the bytes, or in the initial byte, must be written there.
        // Otherwise a value would have several spellings.
        let shortestMin: UInt64 =
            argumentByteCount == 1 ? 24 : 1 << UInt64(argumentByteCount * 4)
        guard argument >= shortestMin else { throw CBORError(.notShortest, at: offset) }
        return CBORHead(major: major, argument: argument, byteCount: 1 + argumentByteCount)
    }
}
