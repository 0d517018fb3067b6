import Bytes
import HTTP

/// The time for which a server says that it keeps an idle connection: `Keep-Alive: timeout=N` (RFC
/// 2068 section 19.7.1.1), as Node.js, Apache and others send it.
enum KeepAlive {
    /// The time for which an idle connection may be used: 0 for not at all, nil if the server does
    /// not say. It is shorter than the server says, because a request on its way when the server
    /// closes would be lost.
    static func usableNanoseconds(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>
    ) -> UInt64? {
        guard head.has(.keepAlive) else { return nil }
        for field in head.fields where field.known == .keepAlive {
            guard let seconds = timeout(in: bytes.extracting(field.value)) else { continue }
            return (max(marginSeconds, min(seconds, secondsMax)) - marginSeconds) * 1_000_000_000
        }
        return nil
    }

    private static func timeout(in value: Span<UInt8>) -> UInt64? {
        var start = 0
        while start < value.count {
            var end = start
            while end < value.count, !isSeparator(value[end]) { end += 1 }
            if end > start + name.count,
                ASCII.equalsIgnoringCase(
                    value.extracting(start..<start + name.count), lowercase: name)
            {
                return ASCII.decimal(value.extracting(start + name.count..<end))
            }
            start = end + 1
        }
        return nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == 0x2C || byte == 0x3B || byte == 0x20 || byte == 0x09
    }

    private static let name = Array("timeout=".utf8)
    private static let marginSeconds: UInt64 = 1
    /// The longest time is a day, which also avoids an overflow.
    private static let secondsMax: UInt64 = 86_400
}
