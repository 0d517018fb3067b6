import Bytes

/// The bounds of a chunked body beside its data.
public struct ChunkedLimits: Hashable, Sendable {
    /// The most bytes of chunk extensions in a whole body. The decoder drops them.
    public var extensionByteCountMax = 4 * 1024
    /// The most bytes of the trailer section with its empty line.
    public var trailerByteCountMax = 8 * 1024
    public var trailerCountMax = 32

    public init() {}
}

/// The part that ``ChunkedDecoder`` found next in its input.
public enum ChunkedStep: Equatable, Sendable {
    /// `count` bytes of data after `skip` bytes of framing. The caller consumes both and calls
    /// again with what follows.
    case data(skip: Int, count: Int)
    /// The first `consumed` bytes of the input were framing, and the rest of the message is still
    /// to come.
    case needMore(consumed: Int)
    /// The body and its trailers end after `consumed` bytes of the input.
    case finished(consumed: Int)
    case refused(HTTPFault)
}

/// Takes the chunked coding off a body (RFC 9112 section 7.1), however it is split.
///
/// Strict: CRLF only, and white space in the size line only before and behind the signs of an
/// extension, as the grammar has it. Extensions are parsed and then dropped. The caller bounds the
/// size of the whole body.
public struct ChunkedDecoder: Sendable {
    private enum Phase: Equatable {
        case sizeStart, size, sizeSpace, sizeLineFeed
        case extensionNameStart, extensionName, extensionNameSpace
        case extensionValueStart, extensionToken, extensionQuoted, extensionEscape
        case extensionQuotedEnd, extensionValueSpace
        case data, dataCarriageReturn, dataLineFeed
        case trailers, finished
        case refused(HTTPFault)
    }

    private static let sizeDigitCountMax = 16

    private let limits: ChunkedLimits
    private var phase = Phase.sizeStart
    private var size: UInt64 = 0
    private var sizeDigitCount = 0
    private var extensionByteCount = 0
    private var section = FieldSection()

    /// The trailer section as received, after `finished`; empty if there was none.
    public private(set) var trailerBytes: [UInt8] = []

    public init(limits: ChunkedLimits = ChunkedLimits()) { self.limits = limits }

    /// The fields of the trailer section, as ranges of ``trailerBytes``.
    public var trailers: [FieldRange] { section.fields }

    /// Prepares for the next body.
    public mutating func reset() {
        phase = .sizeStart
        size = 0
        sizeDigitCount = 0
        extensionByteCount = 0
        section.reset(position: 0)
        trailerBytes.removeAll(keepingCapacity: true)
    }

    /// Reads on in `input`, which starts after the bytes of the last step.
    public mutating func decode(_ input: Span<UInt8>) -> ChunkedStep {
        var offset = 0
        while true {
            switch phase {
            case .finished: return .finished(consumed: offset)
            case .refused(let fault): return .refused(fault)
            case _ where offset == input.count: return .needMore(consumed: offset)
            case .data:
                let count = Int(min(size, UInt64(input.count - offset)))
                size -= UInt64(count)
                if size == 0 { phase = .dataCarriageReturn }
                return .data(skip: offset, count: count)
            case .trailers: return readTrailers(input, from: offset)
            default:
                if let fault = take(input[offset]) { return refuse(fault) }
                offset += 1
            }
        }
    }

    private mutating func refuse(_ fault: HTTPFault) -> ChunkedStep {
        phase = .refused(fault)
        return .refused(fault)
    }

    /// Takes one byte of framing.
    private mutating func take(_ byte: UInt8) -> HTTPFault? {
        switch phase {
        case .sizeStart, .size: return takeSize(byte)
        case .sizeLineFeed:
            guard byte == ASCIIByte.lineFeed else { return .bareCarriageReturn }
            phase = size == 0 ? .trailers : .data
        case .dataCarriageReturn:
            guard byte == ASCIIByte.carriageReturn else {
                return byte == ASCIIByte.lineFeed ? .bareLineFeed : .chunkEndInvalid
            }
            phase = .dataLineFeed
        case .dataLineFeed:
            guard byte == ASCIIByte.lineFeed else { return .bareCarriageReturn }
            sizeDigitCount = 0
            phase = .sizeStart
        default:
            extensionByteCount += 1
            guard extensionByteCount <= limits.extensionByteCountMax else {
                return .chunkExtensionsTooLong
            }
            return takeExtension(byte)
        }
        return nil
    }

    private mutating func takeSize(_ byte: UInt8) -> HTTPFault? {
        if let digit = Hex.value(byte) {
            sizeDigitCount += 1
            // Bounded so that it fits in Int: half of what sixteen digits can say.
            guard sizeDigitCount <= Self.sizeDigitCountMax, size <= UInt64(Int64.max) >> 4 else {
                return .chunkSizeTooLarge
            }
            size = size << 4 | UInt64(digit)
            phase = .size
            return nil
        }
        guard phase == .size else {
            return byte == ASCIIByte.lineFeed ? .bareLineFeed : .chunkSizeInvalid
        }
        if isSpace(byte) {
            extensionByteCount += 1
            phase = .sizeSpace
            return nil
        }
        return endPart(byte, else: .chunkSizeInvalid)
    }

    /// Takes the byte after a size, an extension or its value: the next extension or the end of the
    /// line.
    private mutating func endPart(_ byte: UInt8, else fault: HTTPFault) -> HTTPFault? {
        switch byte {
        case ASCIIByte.semicolon: phase = .extensionNameStart
        case ASCIIByte.carriageReturn: phase = .sizeLineFeed
        case ASCIIByte.lineFeed: return .bareLineFeed
        default: return fault
        }
        return nil
    }

    /// Takes a byte of `";" token [ "=" ( token / quoted-string ) ]` with white space around `;`
    /// and `=`, which is bad but must be accepted (RFC 9112 section 7.1.1, RFC 9110 section 5.6.3).
    private mutating func takeExtension(_ byte: UInt8) -> HTTPFault? {
        if isSpace(byte), let next = phaseAfterSpace {
            phase = next
            return nil
        }
        let isToken = ByteSet.token.contains(byte)
        switch phase {
        case .sizeSpace, .extensionValueSpace:
            // White space may not come before the end of the line.
            guard byte == ASCIIByte.semicolon else {
                return misplaced(byte, else: phase == .sizeSpace ? .chunkSizeInvalid : nil)
            }
            phase = .extensionNameStart
        case .extensionNameStart:
            guard isToken else { return misplaced(byte) }
            phase = .extensionName
        case .extensionName where isToken: break
        case .extensionName, .extensionNameSpace:
            if byte == ASCIIByte.equals {
                phase = .extensionValueStart
            } else if phase == .extensionName || byte == ASCIIByte.semicolon {
                return endPart(byte, else: .chunkExtensionInvalid)
            } else {
                return misplaced(byte)
            }
        case .extensionValueStart:
            guard isToken || byte == ASCIIByte.quote else { return misplaced(byte) }
            phase = isToken ? .extensionToken : .extensionQuoted
        case .extensionToken:
            return isToken ? nil : endPart(byte, else: .chunkExtensionInvalid)
        case .extensionQuoted:
            guard isQuotable(byte) else { return misplaced(byte) }
            if byte == ASCIIByte.quote {
                phase = .extensionQuotedEnd
            } else if byte == ASCIIByte.backslash {
                phase = .extensionEscape
            }
        case .extensionEscape:
            guard isQuotable(byte) else { return misplaced(byte) }
            phase = .extensionQuoted
        default: return endPart(byte, else: .chunkExtensionInvalid)
        }
        return nil
    }

    /// The phase that follows white space; nil if none may be there.
    private var phaseAfterSpace: Phase? {
        switch phase {
        case .sizeSpace, .extensionNameStart, .extensionNameSpace, .extensionValueStart,
            .extensionValueSpace:
            phase
        case .extensionName: .extensionNameSpace
        case .extensionToken, .extensionQuotedEnd: .extensionValueSpace
        default: nil
        }
    }

    private func isSpace(_ byte: UInt8) -> Bool {
        byte == ASCIIByte.space || byte == ASCIIByte.tab
    }

    private func misplaced(_ byte: UInt8, else fault: HTTPFault? = nil) -> HTTPFault {
        byte == ASCIIByte.lineFeed ? .bareLineFeed : fault ?? .chunkExtensionInvalid
    }

    private func isQuotable(_ byte: UInt8) -> Bool {
        byte == ASCIIByte.tab || (byte >= 0x20 && byte != 0x7F)
    }

    private mutating func readTrailers(_ input: Span<UInt8>, from offset: Int) -> ChunkedStep {
        let held = trailerBytes.count
        let available = input.count - offset
        if held == 0, available >= 2, input[offset] == ASCIIByte.carriageReturn,
            input[offset + 1] == ASCIIByte.lineFeed
        {
            phase = .finished
            return .finished(consumed: offset + 2)
        }
        let taken = min(available, max(0, limits.trailerByteCountMax - held))
        for index in offset..<offset + taken { trailerBytes.append(input[index]) }
        let collected = trailerBytes
        let step = section.scan(
            collected.span, to: collected.count, fieldCountMax: limits.trailerCountMax)
        switch step {
        case .complete:
            trailerBytes.removeLast(trailerBytes.count - section.position)
            if section.hasForbiddenTrailer(in: trailerBytes.span) {
                return refuse(.trailerForbidden)
            }
            phase = .finished
            return .finished(consumed: offset + section.position - held)
        case .incomplete, .advanced:
            guard trailerBytes.count < limits.trailerByteCountMax else {
                return refuse(.trailersTooLarge)
            }
            return .needMore(consumed: offset + taken)
        case .refused(let fault):
            return refuse(fault == .tooManyFields ? .trailersTooLarge : fault)
        }
    }
}
