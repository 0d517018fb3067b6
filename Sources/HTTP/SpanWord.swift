extension Span where Element == UInt8 {
    /// Eight bytes from `offset`, the first one least significant.
    ///
    /// One check for all eight, so that the compiler makes one load of it.
    @inline(__always)
    func littleEndianWord(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count &- 8)
        var word = UInt64(unsafe self[unchecked: offset])
        word |= UInt64(unsafe self[unchecked: offset &+ 1]) &<< 8
        word |= UInt64(unsafe self[unchecked: offset &+ 2]) &<< 16
        word |= UInt64(unsafe self[unchecked: offset &+ 3]) &<< 24
        word |= UInt64(unsafe self[unchecked: offset &+ 4]) &<< 32
        word |= UInt64(unsafe self[unchecked: offset &+ 5]) &<< 40
        word |= UInt64(unsafe self[unchecked: offset &+ 6]) &<< 48
        word |= UInt64(unsafe self[unchecked: offset &+ 7]) &<< 56
        return word
    }

    /// The offset, at or after `start`, of the first colon or byte up to the space; `end` when
    /// there is none. No byte before it ends a field name, though it may be wrong in one.
    @inline(__always)
    func firstColonOrSpace(from start: Int, to end: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var position = start
        while position &+ 8 <= end {
            let word = littleEndianWord(at: position)
            let colon = word ^ (ones &* UInt64(ASCIIByte.colon))
            let upToSpace = (word &- ones &* 0x21) & ~word
            let isColon = (colon &- ones) & ~colon
            let flags = (upToSpace | isColon) & (ones &* 0x80)
            // As below, the lowest flag is exact.
            if flags != 0 { return position &+ flags.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < end {
            let byte = self[position]
            if byte == ASCIIByte.colon || byte <= ASCIIByte.space { return position }
            position &+= 1
        }
        return end
    }

    /// The offset, at or after `start`, of the first byte that no field value may hold (a control
    /// byte other than HTAB: RFC 9110 section 5.5); `end` when there is none.
    ///
    /// Eight bytes at a time: values are most of a head.
    @inline(__always)
    func firstControl(from start: Int, to end: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var position = start
        while position &+ 8 <= end {
            let word = littleEndianWord(at: position)
            let delete = word ^ (ones &* 0x7F)
            // The lowest flag is exact: a borrow only travels towards later bytes.
            let belowSpace = (word &- ones &* 0x20) & ~word
            let isDelete = (delete &- ones) & ~delete
            let flags = (belowSpace | isDelete) & (ones &* 0x80)
            guard flags != 0 else {
                position &+= 8
                continue
            }
            position &+= flags.trailingZeroBitCount &>> 3
            guard self[position] == ASCIIByte.tab else { return position }
            position &+= 1
        }
        while position < end {
            let byte = self[position]
            if (byte < 0x20 && byte != ASCIIByte.tab) || byte == 0x7F { return position }
            position &+= 1
        }
        return end
    }
}
