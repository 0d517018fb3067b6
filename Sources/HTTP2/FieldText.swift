import Bytes

/// Makes field lines of HTTP/1.1 out of an HTTP/2 header block without pseudo-header fields: of an
/// answer's head, or a trailer section (RFC 9113 sections 8.1 and 8.2).
public struct FieldText: ~Copyable {
    private var text = ByteBuffer()
    private var byteCount = 0
    public private(set) var fieldCount = 0
    /// True if the fields are beyond the limit. Later fields are not in the text then.
    public private(set) var isTooLarge = false
    private let limits: FieldSectionLimits

    public init(limits: FieldSectionLimits) { self.limits = limits }

    /// Prepares for the next block.
    public mutating func reset() {
        text.clear(keepingAtMost: Self.keptByteCountMax)
        byteCount = 0
        fieldCount = 0
        isTooLarge = false
    }

    private static let keptByteCountMax = 8 * 1024

    /// True if the block has grown far beyond the size that is read.
    public var isBomb: Bool { byteCount > limits.bombByteCount }

    /// Takes the next field.
    ///
    /// - Returns: true if the block is still well-formed.
    public mutating func take(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        count(name, value)
        guard FieldSyntax.isRegular(name, value) else { return false }
        if !isTooLarge { append(name, value) }
        return true
    }

    /// Returns the lines with the empty one behind them; nothing if there is no field.
    public mutating func finish() -> [UInt8] {
        guard fieldCount > 0 else { return [] }
        text.append("\r\n")
        return text.readable.array
    }

    /// The lines so far.
    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.readable }
    }

    /// Counts a field against the limits.
    mutating func count(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        byteCount += name.count + value.count + 32
        isTooLarge = isTooLarge || byteCount > limits.byteCountMax
    }

    /// Appends a field that was found to be well-formed.
    mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        text.append(name)
        text.append(": ")
        text.append(value)
        text.append("\r\n")
        fieldCount += 1
    }

    /// Counts a line of the head that is not one of these.
    mutating func countLine() { fieldCount += 1 }
}

/// Makes the head of an HTTP/1.1 answer out of an HTTP/2 header block (RFC 9113 section 8.3.2), so
/// that one strict parser judges both.
public struct ResponseHeadText: ~Copyable {
    private(set) var lines: FieldText
    /// The status; zero until it has come.
    public private(set) var status: UInt16 = 0
    private var hasContentLength = false

    public init(limits: FieldSectionLimits) { lines = FieldText(limits: limits) }

    public mutating func reset() {
        lines.reset()
        status = 0
        hasContentLength = false
    }

    public var isBomb: Bool { lines.isBomb }
    public var isTooLarge: Bool { lines.isTooLarge }
    public var fieldCount: Int { lines.fieldCount }

    /// Takes the next field.
    ///
    /// - Returns: true if the answer is still well-formed.
    public mutating func take(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        guard name.equals(":status") else {
            // The status comes first, and no other pseudo-header field may come at all.
            guard status > 0 else { return false }
            if name.equals("content-length") {
                guard !hasContentLength else { return false }
                hasContentLength = true
            }
            return lines.take(name: name, value: value)
        }
        lines.count(name, value)
        guard status == 0, value.count == 3 else { return false }
        var number: UInt16 = 0
        for index in value.indices {
            guard (0x30...0x39).contains(value[index]) else { return false }
            number = number * 10 + UInt16(value[index] - 0x30)
        }
        // RFC 9113 section 8.6: there is no other protocol to switch to.
        guard number >= 100, number != 101 else { return false }
        status = number
        return true
    }

    /// Returns the text of the head; nil for a malformed answer.
    public mutating func finish() -> [UInt8]? {
        guard status > 0 else { return nil }
        var text = ByteBuffer(capacity: 512)
        text.append("HTTP/1.1 ")
        text.append(decimal: UInt64(status))
        text.append(" \r\n")
        text.append(lines.bytes)
        text.append("\r\n")
        return text.readable.array
    }
}

/// The syntax of HTTP/2's names and values (RFC 9113 sections 8.2.1 and 8.2.2).
enum FieldSyntax {
    static func isRegular(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        isName(name) && isValue(value) && !isConnectionSpecific(name)
    }

    static func isConnectionSpecific(_ name: Span<UInt8>) -> Bool {
        switch name.count {
        case 7: name.equals("upgrade")
        case 10: name.equals("connection") || name.equals("keep-alive")
        case 14: name.equals("http2-settings")
        case 16: name.equals("proxy-connection")
        case 17: name.equals("transfer-encoding")
        default: false
        }
    }

    /// True for a token without upper-case letters.
    static func isName(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return false }
        for index in name.indices {
            switch name[index] {
            case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: "!"), 0x23...0x27, UInt8(ascii: "*"),
                UInt8(ascii: "+"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"),
                UInt8(ascii: "~"):
                continue
            default: return false
            }
        }
        return true
    }

    /// True for visible ASCII alone, as it stands between the spaces of a request line, or for a
    /// host.
    static func isWord(_ value: Span<UInt8>) -> Bool { isASCII(value, from: 0x21) }

    /// True if all bytes are ASCII from `low` on, without DEL. Eight at a time.
    @inline(__always)
    private static func isASCII(_ bytes: Span<UInt8>, from low: UInt8) -> Bool {
        guard bytes.count >= 8 else {
            for index in bytes.indices {
                guard bytes[index] >= low, bytes[index] < 0x7F else { return false }
            }
            return true
        }
        return unsafe bytes.withUnsafeBytes { raw in
            let ones: UInt64 = 0x0101_0101_0101_0101
            let tops = ones &<< 7
            let floor = ones &* UInt64(low)
            var offset = 0
            while true {
                let word = unsafe raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                // Below 0x80 no byte borrows from another, or carries into it.
                let isLow = ~((word | tops) &- floor)
                guard (word | isLow | (word &+ ones)) & tops == 0 else { return false }
                guard offset < raw.count - 8 else { return true }
                // The last word overlaps the one before.
                offset = min(offset + 8, raw.count - 8)
            }
        }
    }

    /// True for a value without control characters except tabs, and without white space around it.
    static func isValue(_ value: Span<UInt8>) -> Bool {
        guard !value.isEmpty else { return true }
        if !isASCII(value, from: 0x20) {
            for index in value.indices {
                let byte = value[index]
                guard byte >= 0x20 || byte == 0x09, byte != 0x7F else { return false }
            }
        }
        let (first, last) = (value[0], value[value.count - 1])
        return first != 0x20 && first != 0x09 && last != 0x20 && last != 0x09
    }
}
