public import Bytes

/// The value of a `traceparent` header (W3C Trace Context section 3.2): the trace that a request
/// belongs to, and the span that it was sent from.
public struct TraceParent: Hashable, Sendable {
    public static let byteCount = 55

    public let traceID: Bytes16
    public let spanID: UInt64
    /// Bit 0: sampled. Bit 1: the trace's ID is random. The other bits have no meaning yet.
    public let flags: UInt8

    public init(traceID: Bytes16, spanID: UInt64, flags: UInt8) {
        self.traceID = traceID
        self.spanID = spanID
        self.flags = flags & (Self.sampled | Self.random)
    }

    /// Parses `version "-" trace-id "-" parent-id "-" trace-flags`; nil for anything else.
    public init?(_ text: Span<UInt8>) {
        // A later version may have more after another dash.
        guard text.count >= Self.byteCount,
            text.count == Self.byteCount || text[Self.byteCount] == Self.dash,
            text[2] == Self.dash, text[35] == Self.dash, text[52] == Self.dash,
            let version = Self.word(text, 0..<2), version != 0xFF,
            version > 0 || text.count == Self.byteCount,
            let word0 = Self.word(text, 3..<19), let word1 = Self.word(text, 19..<35),
            let spanID = Self.word(text, 36..<52), let flags = Self.word(text, 53..<55),
            word0 | word1 != 0, spanID != 0
        else { return nil }
        self.init(
            traceID: Bytes16(word0: word0, word1: word1), spanID: spanID,
            flags: UInt8(truncatingIfNeeded: flags))
    }

    public var isSampled: Bool { flags & Self.sampled != 0 }

    /// Writes the value in version 00.
    public func append(to buffer: inout ByteBuffer) {
        buffer.append("00-")
        buffer.append(paddedHexadecimal: traceID.word0)
        buffer.append(paddedHexadecimal: traceID.word1)
        buffer.append(Self.dash)
        buffer.append(paddedHexadecimal: spanID)
        buffer.append("-0")
        buffer.append(UInt8(ascii: "0") + flags)
    }

    public static let sampled: UInt8 = 1
    public static let random: UInt8 = 2

    /// Reads lower-case digits alone, because section 3.2.2 allows no others.
    private static func word(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
        var word: UInt64 = 0
        for index in range {
            switch text[index] {
            case let byte where (0x30...0x39).contains(byte): word = word << 4 | UInt64(byte - 0x30)
            case let byte where (0x61...0x66).contains(byte): word = word << 4 | UInt64(byte - 0x57)
            default: return nil
            }
        }
        return word
    }

    private static let dash = UInt8(ascii: "-")
}

extension RequestHead {
    /// The one valid `traceparent`; nil if there is none, or more than one.
    public func traceParent(in bytes: Span<UInt8>) -> TraceParent? {
        var count = 0
        var found: TraceParent?
        for field in fields where isTraceParent(field, in: bytes) {
            count += 1
            found = TraceParent(bytes.extracting(field.value))
        }
        return count == 1 ? found : nil
    }

    public func isTraceParent(_ field: FieldRange, in bytes: Span<UInt8>) -> Bool {
        field.known == .other && field.name.count == Self.traceParent.count
            && ASCII.equalsIgnoringCase(
                bytes.extracting(field.name), lowercase: Self.traceParent)
    }

    /// True for a field with data about a trace that only systems that know it understand.
    public func isTraceState(_ field: FieldRange, in bytes: Span<UInt8>) -> Bool {
        field.known == .other && field.name.count == Self.traceState.count
            && ASCII.equalsIgnoringCase(
                bytes.extracting(field.name), lowercase: Self.traceState)
    }

    private static let traceParent = Array("traceparent".utf8)
    private static let traceState = Array("tracestate".utf8)
}
