/// The content of a JSON string (RFC 8259 section 7), however it is split: escapes and UTF-8 are
/// checked, and the characters are kept as far as they are wanted.
struct JSONStringScan {
    private enum Place {
        case plain
        case escape
        case hex
        /// After the first half of a surrogate pair: `\`, then `u`.
        case pairEscape
        case pairLetter
        case continuation
    }

    /// The string's characters in UTF-8, cut if it is longer than wanted.
    private(set) var bytes: [UInt8] = []
    private var keptCount = 0
    private var place = Place.plain
    private var hexDigitCount = 0
    private var code: UInt32 = 0
    private var highSurrogate: UInt32 = 0
    private var continuationCount = 0
    private var continuationRange: ClosedRange<UInt8> = 0x80...0xBF

    /// Begins behind the opening quotation mark. Keeps at most `keptCount` bytes.
    mutating func begin(keeping keptCount: Int) {
        self.keptCount = keptCount
        bytes.removeAll(keepingCapacity: true)
        place = .plain
        highSurrogate = 0
    }

    /// Reads on from `index`. True at the closing quotation mark, which was then read.
    mutating func take(
        _ input: Span<UInt8>, from index: inout Int, offset: Int
    ) throws(JSONError) -> Bool {
        while index < input.count {
            if place == .plain { skipPlain(input, from: &index) }
            guard index < input.count else { return false }
            let byte = input[index]
            let position = offset + index
            index += 1
            switch place {
            case .plain:
                if byte == 0x22 { return true }
                try takeSpecial(byte, at: position)
            case .escape: try takeEscape(byte, at: position)
            case .hex: try takeHex(byte, at: position)
            case .pairEscape:
                guard byte == 0x5C else { throw .malformed(offset: position) }
                place = .pairLetter
            case .pairLetter:
                guard byte == 0x75 else { throw .malformed(offset: position) }
                place = .hex
            case .continuation: try takeContinuation(byte, at: position)
            }
        }
        return false
    }

    /// Skips printable ASCII except quotation mark and backslash.
    private mutating func skipPlain(_ input: Span<UInt8>, from index: inout Int) {
        while index < input.count {
            let byte = input[index]
            guard byte >= 0x20, byte < 0x80, byte != 0x22, byte != 0x5C else { return }
            keep(byte)
            index += 1
        }
    }

    private mutating func keep(_ byte: UInt8) {
        if bytes.count < keptCount { bytes.append(byte) }
    }

    // MARK: UTF-8

    /// Takes a backslash, or the first byte of a character beyond ASCII (RFC 3629 section 4).
    private mutating func takeSpecial(_ byte: UInt8, at position: Int) throws(JSONError) {
        continuationRange = 0x80...0xBF
        switch byte {
        case 0x5C:
            place = .escape
            return
        case 0xC2...0xDF: continuationCount = 1
        case 0xE0...0xEF:
            continuationCount = 2
            // Excludes overlong forms here, and surrogates below.
            if byte == 0xE0 { continuationRange = 0xA0...0xBF }
            if byte == 0xED { continuationRange = 0x80...0x9F }
        case 0xF0...0xF4:
            continuationCount = 3
            if byte == 0xF0 { continuationRange = 0x90...0xBF }
            if byte == 0xF4 { continuationRange = 0x80...0x8F }
        case 0x80...: throw .notUTF8(offset: position)
        default: throw .malformed(offset: position)
        }
        place = .continuation
        keep(byte)
    }

    private mutating func takeContinuation(_ byte: UInt8, at position: Int) throws(JSONError) {
        guard continuationRange.contains(byte) else { throw .notUTF8(offset: position) }
        continuationRange = 0x80...0xBF
        keep(byte)
        continuationCount -= 1
        if continuationCount == 0 { place = .plain }
    }

    // MARK: escapes

    private mutating func takeEscape(_ byte: UInt8, at position: Int) throws(JSONError) {
        place = .plain
        switch byte {
        case 0x22, 0x5C, 0x2F: keep(byte)
        case 0x62: keep(0x08)
        case 0x66: keep(0x0C)
        case 0x6E: keep(0x0A)
        case 0x72: keep(0x0D)
        case 0x74: keep(0x09)
        case 0x75: place = .hex
        default: throw .malformed(offset: position)
        }
    }

    private mutating func takeHex(_ byte: UInt8, at position: Int) throws(JSONError) {
        let digit: UInt8
        switch byte {
        case 0x30...0x39: digit = byte - 0x30
        case 0x41...0x46: digit = byte - 0x41 + 10
        case 0x61...0x66: digit = byte - 0x61 + 10
        default: throw .malformed(offset: position)
        }
        code = code << 4 | UInt32(digit)
        hexDigitCount += 1
        guard hexDigitCount == 4 else { return }
        let unit = code
        (code, hexDigitCount) = (0, 0)
        try takeUnit(unit, at: position)
    }

    /// Takes one UTF-16 code unit: a character, or half of one.
    private mutating func takeUnit(_ unit: UInt32, at position: Int) throws(JSONError) {
        let isLow = (0xDC00...0xDFFF).contains(unit)
        guard isLow == (highSurrogate != 0) else { throw .malformed(offset: position) }
        guard unit != 0 else { throw .nulCharacter(offset: position) }
        if (0xD800...0xDBFF).contains(unit) {
            highSurrogate = unit
            place = .pairEscape
            return
        }
        var value = unit
        if isLow {
            value = 0x10000 + (highSurrogate - 0xD800) << 10 + (unit - 0xDC00)
            highSurrogate = 0
        }
        place = .plain
        guard let scalar = Unicode.Scalar(value) else { throw .malformed(offset: position) }
        for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { keep(byte) }
    }
}
