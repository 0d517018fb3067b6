/// Reads field lines up to the empty line: of a head, or the trailers of a chunked body
/// (RFC 9112 section 5).
///
/// Goes on where it stopped, so that a head that arrives byte by byte costs no more than one that
/// arrives at once. Judges from left to right, so that the verdict does not depend on how the head
/// was split.
struct FieldSection: Sendable {
    enum Step: Equatable {
        case advanced
        case incomplete
        case complete
        case refused(HTTPFault)
    }

    private enum Phase {
        case lineStart, name, nameSpace, valueStart, value
    }

    private let table = KnownFieldTable.shared
    private(set) var fields: [FieldRange] = []
    /// A bit for each known field among them: most look-ups are for fields that are not there.
    private var knownBits: UInt64 = 0
    /// The next byte to read; after `complete`, the one behind the empty line.
    private(set) var position = 0
    private var phase = Phase.lineStart
    private var nameStart = 0
    private var nameHasUnderscore = false
    private var nameEnd = 0
    private var nameKnown = KnownField.other
    private var valueStart = 0
    /// True to remove such a space, as a proxy does in answers (RFC 9112 section 5.1); in requests
    /// it is refused.
    private let removesSpaceBeforeColon: Bool

    init(removesSpaceBeforeColon: Bool = false) {
        self.removesSpaceBeforeColon = removesSpaceBeforeColon
    }

    /// Starts again at `position`. The array keeps its storage.
    mutating func reset(position: Int) {
        // Checking first is cheaper than removing nothing.
        if !fields.isEmpty { fields.removeAll(keepingCapacity: true) }
        knownBits = 0
        self.position = position
        phase = .lineStart
    }

    @inline(__always)
    func has(_ known: KnownField) -> Bool {
        knownBits & 1 &<< UInt64(known.rawValue) != 0
    }

    @inline(__always)
    private mutating func append(_ field: FieldRange) {
        fields.append(field)
        knownBits |= 1 &<< UInt64(field.known.rawValue)
    }

    /// Begins the fields behind the start line, whose carriage return is at `lineEnd`.
    mutating func begin(behind lineEnd: Int, _ bytes: Span<UInt8>, _ end: Int) -> Step {
        guard lineEnd + 1 < end else { return .incomplete }
        guard bytes[lineEnd + 1] == ASCIIByte.lineFeed else {
            return .refused(.bareCarriageReturn)
        }
        reset(position: lineEnd + 2)
        return .advanced
    }

    /// The result of the last step of a head.
    ///
    /// - Parameter isFull: no more bytes of the head may be read.
    func outcome(
        of step: Step, isFull: Bool, _ refusal: (HTTPFault) -> HTTPRefusal
    ) -> HeadOutcome {
        switch step {
        case .complete: .complete
        case .refused(let fault): .refused(refusal(fault))
        case .incomplete, .advanced: isFull ? .refused(refusal(.headTooLarge)) : .incomplete
        }
    }

    /// Reads on in `bytes`, up to `end`.
    mutating func scan(_ bytes: Span<UInt8>, to end: Int, fieldCountMax: Int) -> Step {
        var step = Step.advanced
        while step == .advanced {
            switch phase {
            case .lineStart:
                takeWholeLines(bytes, end, fieldCountMax)
                step = startLine(bytes, end, fieldCountMax)
            case .name: step = scanName(bytes, end)
            case .nameSpace: step = skipNameSpace(bytes, end)
            case .valueStart: step = skipSpace(bytes, end)
            case .value: step = scanValue(bytes, end)
            }
        }
        return step
    }

    /// Takes complete lines that have no fault: nearly all. The first other line is left to the
    /// steps, which begin it anew and report its fault.
    @inline(__always)
    private mutating func takeWholeLines(_ bytes: Span<UInt8>, _ end: Int, _ fieldCountMax: Int) {
        var lineStart = position
        while fields.count < fieldCountMax {
            let nameEnd = bytes.firstColonOrSpace(from: lineStart, to: end)
            guard nameEnd < end, nameEnd > lineStart, bytes[nameEnd] == ASCIIByte.colon else {
                break
            }
            let known = table.field(in: bytes, from: lineStart, to: nameEnd)
            // Any other name must be checked byte by byte first.
            guard known != .other || bytes.isPlainName(from: lineStart, to: nameEnd) else { break }
            var valueStart = nameEnd &+ 1
            while valueStart < end, isSpace(bytes[valueStart]) { valueStart &+= 1 }
            let lineEnd = bytes.firstControl(from: valueStart, to: end)
            guard lineEnd &+ 1 < end, bytes[lineEnd] == ASCIIByte.carriageReturn,
                bytes[lineEnd &+ 1] == ASCIIByte.lineFeed
            else { break }
            var valueEnd = lineEnd
            while valueEnd > valueStart, isSpace(bytes[valueEnd &- 1]) { valueEnd &-= 1 }
            append(
                FieldRange(
                    name: Range32(lineStart, nameEnd), value: Range32(valueStart, valueEnd),
                    known: known))
            lineStart = lineEnd &+ 2
        }
        position = lineStart
    }

    @inline(__always)
    private mutating func startLine(
        _ bytes: Span<UInt8>, _ end: Int, _ fieldCountMax: Int
    ) -> Step {
        guard position < end else { return .incomplete }
        switch bytes[position] {
        case ASCIIByte.carriageReturn:
            guard position &+ 1 < end else { return .incomplete }
            guard bytes[position &+ 1] == ASCIIByte.lineFeed else {
                return .refused(.bareCarriageReturn)
            }
            position &+= 2
            return .complete
        case ASCIIByte.lineFeed: return .refused(.bareLineFeed)
        case ASCIIByte.space, ASCIIByte.tab: return .refused(.obsoleteFold)
        case ASCIIByte.colon: return .refused(.fieldNameEmpty)
        default: break
        }
        guard fields.count < fieldCountMax else { return .refused(.tooManyFields) }
        nameStart = position
        nameHasUnderscore = false
        phase = .name
        return .advanced
    }

    @inline(__always)
    private mutating func scanName(_ bytes: Span<UInt8>, _ end: Int) -> Step {
        let offset = bytes.firstColonOrSpace(from: position, to: end)
        nameKnown = .other
        if offset < end, bytes[offset] == ASCIIByte.colon {
            nameKnown = table.field(in: bytes, from: nameStart, to: offset)
        }
        // A known name needs no further check.
        if nameKnown == .other, let fault = checkName(bytes, offset) { return .refused(fault) }
        position = offset
        guard offset < end else { return .incomplete }
        switch bytes[offset] {
        case ASCIIByte.colon: break
        case ASCIIByte.space, ASCIIByte.tab: return endName(bytes, offset)
        case ASCIIByte.carriageReturn: return .refused(.fieldWithoutColon)
        case ASCIIByte.lineFeed: return .refused(.bareLineFeed)
        default: return .refused(.fieldNameInvalid)
        }
        nameEnd = offset
        position = offset &+ 1
        phase = .valueStart
        return .advanced
    }

    /// Handles white space, which ends the name. The framing of the message must not depend on
    /// whether a server accepts such a field or drops it.
    private mutating func endName(_ bytes: Span<UInt8>, _ offset: Int) -> Step {
        guard removesSpaceBeforeColon else { return .refused(.spaceBeforeColon) }
        nameKnown = table.field(in: bytes, from: nameStart, to: offset)
        guard nameKnown != .contentLength, nameKnown != .transferEncoding else {
            return .refused(.spaceBeforeColon)
        }
        nameEnd = offset
        phase = .nameSpace
        return .advanced
    }

    private mutating func skipNameSpace(_ bytes: Span<UInt8>, _ end: Int) -> Step {
        while position < end, isSpace(bytes[position]) { position &+= 1 }
        guard position < end else { return .incomplete }
        guard bytes[position] == ASCIIByte.colon else { return .refused(.spaceBeforeColon) }
        position &+= 1
        phase = .valueStart
        return .advanced
    }

    /// Checks the bytes of a name from `position` on, as far as they have arrived.
    @inline(__always)
    private mutating func checkName(_ bytes: Span<UInt8>, _ end: Int) -> HTTPFault? {
        var hasUnderscore = nameHasUnderscore
        for index in position..<end {
            let byte = bytes[index]
            guard ByteSet.token.contains(byte) else { return .fieldNameInvalid }
            hasUnderscore = hasUnderscore || byte == ASCIIByte.underscore
        }
        nameHasUnderscore = hasUnderscore
        return nil
    }

    @inline(__always)
    private mutating func skipSpace(_ bytes: Span<UInt8>, _ end: Int) -> Step {
        var offset = position
        while offset < end, isSpace(bytes[offset]) { offset &+= 1 }
        position = offset
        guard offset < end else { return .incomplete }
        valueStart = offset
        phase = .value
        return .advanced
    }

    @inline(__always)
    private mutating func scanValue(_ bytes: Span<UInt8>, _ end: Int) -> Step {
        let offset = bytes.firstControl(from: position, to: end)
        position = offset
        guard offset < end else { return .incomplete }
        guard bytes[offset] == ASCIIByte.carriageReturn else {
            let isLineFeed = bytes[offset] == ASCIIByte.lineFeed
            return .refused(isLineFeed ? .bareLineFeed : .fieldValueInvalid)
        }
        guard offset &+ 1 < end else { return .incomplete }
        guard bytes[offset &+ 1] == ASCIIByte.lineFeed else {
            return .refused(.bareCarriageReturn)
        }
        var valueEnd = offset
        while valueEnd > valueStart, isSpace(bytes[valueEnd &- 1]) { valueEnd &-= 1 }
        append(
            FieldRange(
                name: Range32(nameStart, nameEnd), value: Range32(valueStart, valueEnd),
                known: nameKnown, hasUnderscore: nameHasUnderscore))
        position = offset &+ 2
        phase = .lineStart
        return .advanced
    }

    @inline(__always)
    private func isSpace(_ byte: UInt8) -> Bool {
        byte == ASCIIByte.space || byte == ASCIIByte.tab
    }
}
