import Bytes

/// The bounds of one message head.
public struct HeadLimits: Hashable, Sendable {
    /// The most bytes of a head, from its first byte to the end of the empty line.
    public var headByteCountMax: Int
    public var fieldCountMax: Int
    public var targetByteCountMax: Int

    /// Values are clamped to 1...2^30, so that offsets fit in ``Range32``.
    public init(headByteCountMax: Int, fieldCountMax: Int, targetByteCountMax: Int) {
        self.headByteCountMax = min(max(headByteCountMax, 1), 1 << 30)
        self.fieldCountMax = min(max(fieldCountMax, 1), 1 << 30)
        self.targetByteCountMax = min(max(targetByteCountMax, 1), 1 << 30)
    }
}

/// The state of reading a head.
public enum HeadOutcome: Equatable, Sendable {
    /// The head is incomplete: more bytes are needed.
    case incomplete
    case complete
    case refused(HTTPRefusal)
}

public enum HTTPVersion: UInt8, Sendable {
    case http10
    case http11

    /// Checks the bytes of `HTTP/1.1` (RFC 9112 section 2.3) that have arrived, from `start` on.
    ///
    /// - Returns: the fault of the first wrong byte; nil while all are right.
    @inline(__always)
    static func fault(in bytes: Span<UInt8>, from start: Int, to end: Int) -> HTTPFault? {
        // "HTTP/1." from the last byte to the first, then the minor digit.
        let expected: UInt64 = 0x2E31_2F50_5454_48
        if end &- start >= byteCount {
            let word = bytes.littleEndianWord(at: start)
            let minor = word &>> 56
            if word & 0x00FF_FFFF_FFFF_FFFF == expected, minor == 0x30 || minor == 0x31 {
                return nil
            }
        }
        let present = min(byteCount, end &- start)
        for offset in 0..<present {
            let byte = bytes[start &+ offset]
            if offset == 5 || offset == 7 {
                guard byte &- ASCIIByte.zero < 10 else { return .versionInvalid }
            } else if byte != UInt8(truncatingIfNeeded: expected &>> UInt64(offset &* 8)) {
                return .versionInvalid
            }
        }
        // Eight well-formed bytes, but neither of the two versions.
        return present == byteCount ? .versionNotSupported : nil
    }

    static let byteCount = 8
}

/// The rule by which a message's body ends (RFC 9112 section 6.3).
public enum BodyFraming: Hashable, Sendable {
    case none
    /// The body has this many bytes; 0 if `Content-Length: 0` was sent.
    case length(UInt64)
    case chunked
    /// The body ends with the connection. Only in responses.
    case untilClose
}
