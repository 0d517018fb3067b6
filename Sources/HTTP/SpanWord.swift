import Bytes

extension Span where Element == UInt8 {
    /// The offset, at or after `start`, of the first colon or byte up to the space; `end` if there
    /// is none. No byte before it ends a field name, though it may be invalid in one.
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

    /// True if the bytes from `start` to `end`, of which there must be at least one, are letters,
    /// digits and hyphens.
    @inline(__always)
    func isPlainName(from start: Int, to end: Int) -> Bool {
        var position = start
        while position &+ 8 <= end {
            guard FoldedName.isPlain(littleEndianWord(at: position)) else { return false }
            position &+= 8
        }
        guard position < end else { return true }
        if end &- start >= 8 { return FoldedName.isPlain(littleEndianWord(at: end &- 8)) }
        while position < end {
            guard FoldedName.fold(self[position]) != 0x2D || self[position] == 0x2D else {
                return false
            }
            position &+= 1
        }
        return true
    }

    /// The offset, at or after `start`, of the first byte that no field value may hold (a control
    /// byte other than HTAB: RFC 9110 section 5.5); `end` if there is none.
    ///
    /// Reads sixteen bytes at a time while all are printable, else eight, because values are most
    /// of a head.
    @inline(__always)
    func firstControl(from start: Int, to end: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var position = start
        while position &+ 16 <= end {
            let first = littleEndianWord(at: position)
            let second = littleEndianWord(at: position &+ 8)
            // A byte below the space borrows, and one from DEL on carries: both leave a high bit.
            // Others may do so, too, and are checked again below.
            let below = (first &- ones &* 0x20) | (second &- ones &* 0x20)
            let above = (first &+ ones) | (second &+ ones)
            if (below | above) & (ones &* 0x80) != 0 { break }
            position &+= 16
        }
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
