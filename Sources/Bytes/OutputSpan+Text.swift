/// The parts of texts, written in place.
extension OutputSpan where Element == UInt8 {
    /// Appends all of `bytes`, for which there must be room.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func append(contentsOf bytes: Span<UInt8>) {
        precondition(bytes.count <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { memory, count in
            unsafe bytes.withUnsafeBufferPointer { source in
                if let base = source.baseAddress, let start = memory.baseAddress {
                    unsafe (start + count).initialize(from: base, count: source.count)
                }
            }
            count &+= bytes.count
        }
    }

    /// Appends a literal, for which there must be room.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func append(_ text: StaticString) {
        precondition(text.utf8CodeUnitCount <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { memory, count in
            if let start = memory.baseAddress {
                unsafe (start + count).initialize(
                    from: text.utf8Start, count: text.utf8CodeUnitCount)
            }
            count &+= text.utf8CodeUnitCount
        }
    }

    /// Appends `number` in decimal digits, of which there are `digitCount`
    /// (``Swift/UInt64/decimalDigitCount``).
    @inlinable
    @_lifetime(self: copy self)
    public mutating func append(decimal number: UInt64, digitCount: Int) {
        precondition(digitCount > 0 && digitCount <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { memory, count in
            var position = count &+ digitCount
            var rest = number
            while position > count &+ 1 {
                let two = rest % 100
                rest /= 100
                position &-= 2
                unsafe memory.initializeElement(
                    at: position, to: UInt8(truncatingIfNeeded: two / 10) | 0x30)
                unsafe memory.initializeElement(
                    at: position &+ 1, to: UInt8(truncatingIfNeeded: two % 10) | 0x30)
            }
            if position > count {
                unsafe memory.initializeElement(
                    at: count, to: UInt8(truncatingIfNeeded: rest) | 0x30)
            }
            count &+= digitCount
        }
    }

    /// Appends `number` as sixteen lower-case hexadecimal digits.
    @_lifetime(self: copy self)
    public mutating func append(paddedHexadecimal number: UInt64) {
        append(bigEndian: Hex.digits(number &>> 32))
        append(bigEndian: Hex.digits(number & 0xFFFF_FFFF))
    }
}

extension UInt64 {
    /// The number of decimal digits, 1 to 20.
    @inlinable
    public var decimalDigitCount: Int {
        var count = 1
        var bound: UInt64 = 10
        // Ten to the power of twenty would not fit.
        while self >= bound, count < 20 {
            count &+= 1
            bound = count < 20 ? bound &* 10 : .max
        }
        return count
    }
}
