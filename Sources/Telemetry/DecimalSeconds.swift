import Bytes

/// Nanoseconds as decimal seconds, exactly and without floating point.
enum DecimalSeconds {
    static func text(nanoseconds: UInt64) -> String {
        var buffer = ByteBuffer(capacity: 32)
        append(nanoseconds: nanoseconds, to: &buffer)
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }

    /// Appends the seconds without trailing zeros: `0.0005`, `2.5`, `60`.
    static func append(nanoseconds: UInt64, to buffer: inout ByteBuffer) {
        buffer.append(decimal: nanoseconds / 1_000_000_000)
        var rest = nanoseconds % 1_000_000_000
        guard rest > 0 else { return }
        buffer.append(UInt8(0x2E))
        var divisor: UInt64 = 100_000_000
        while rest > 0 {
            buffer.append(UInt8(truncatingIfNeeded: rest / divisor) + 0x30)
            rest %= divisor
            divisor /= 10
        }
    }
}
