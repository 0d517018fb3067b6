/// Rewrites a path segment by segment, giving the disputed spellings a meaning or leaving them.
struct PathReading {
    let interpreting: TargetAllowances
    /// The disputed spellings met so far.
    private(set) var found: TargetAllowances = []

    private var hasDotSegment = false
    /// The offset in the output of the current segment's first byte.
    private var segmentStart = 0
    /// True behind a `;` that starts parameters which are left out.
    private var isInParameters = false
    /// The encoded byte just before; 0 if there was none. It reveals overlong UTF-8.
    private var encodedBefore: UInt8 = 0

    init(interpreting: TargetAllowances) { self.interpreting = interpreting }

    /// Replaces `output` with the reading of `path`, which starts with a slash. Returns a fault
    /// that no allowance lifts.
    mutating func read(_ path: Span<UInt8>, into output: inout [UInt8]) -> HTTPFault? {
        output.removeAll(keepingCapacity: true)
        guard !path.isEmpty, path[0] == ASCIIByte.slash else { return .pathInvalid }
        output.append(ASCIIByte.slash)
        segmentStart = 1
        var index = 1
        while index < path.count {
            let byte = path[index]
            let fault: HTTPFault?
            if byte == ASCIIByte.percent {
                guard let encoded = PercentEncoding.byte(in: path, at: index) else {
                    return .percentEncodingInvalid
                }
                index += 3
                fault = takeEncoded(encoded, &output)
            } else {
                index += 1
                encodedBefore = 0
                fault = takePlain(byte, &output)
            }
            if let fault { return fault }
        }
        return endSegment(isLast: true, &output)
    }

    /// The fault for which the path is refused if only `allowing` is allowed; nil if it is not
    /// refused.
    func refusal(allowing: TargetAllowances) -> HTTPFault? {
        let disputed = found.subtracting(allowing)
        if disputed.contains(.encodedControl) { return .encodedControl }
        if disputed.contains(.dotSegments) { return hasDotSegment ? .dotSegment : .encodedDot }
        if disputed.contains(.encodedSlash) { return .encodedSlash }
        if disputed.contains(.backslash) { return .backslash }
        return disputed.contains(.emptySegments) ? .emptySegment : nil
    }

    private mutating func takePlain(_ byte: UInt8, _ output: inout [UInt8]) -> HTTPFault? {
        switch byte {
        case ASCIIByte.slash: return separate(&output)
        case ASCIIByte.semicolon: takeSemicolon(&output)
        case ASCIIByte.backslash: return takeBackslash(&output)
        default:
            if ByteSet.pathPlain.contains(byte) {
                append(byte, &output)
            } else if ByteSet.pathTolerated.contains(byte) {
                appendEncoded(byte, &output)
            } else {
                return .pathInvalid
            }
        }
        return nil
    }

    private mutating func takeEncoded(_ byte: UInt8, _ output: inout [UInt8]) -> HTTPFault? {
        defer { encodedBefore = byte }
        switch byte {
        // Servers in C end a string there, so no listener can allow it.
        case 0: return .encodedControl
        case 1..<0x20, 0x7F:
            found.insert(.encodedControl)
            appendEncoded(byte, &output)
        case 0x80...:
            guard !isOverlong(byte) else { return .overlongEncoding }
            appendEncoded(byte, &output)
        case ASCIIByte.slash:
            found.insert(.encodedSlash)
            guard !interpreting.contains(.encodedSlash) else { return separate(&output) }
            appendEncoded(byte, &output)
        case ASCIIByte.backslash: return takeBackslash(&output)
        case ASCIIByte.semicolon: takeSemicolon(&output)
        case ASCIIByte.period:
            found.insert(.dotSegments)
            append(byte, &output)
        default:
            if ByteSet.pathPlain.contains(byte) {
                append(byte, &output)
            } else {
                appendEncoded(byte, &output)
            }
        }
        return nil
    }

    /// True if `byte` after the one before encodes an ASCII byte in two, three or four bytes.
    /// Decoders that do not check that (RFC 3629 section 10) make `/` or `.` of it.
    private func isOverlong(_ byte: UInt8) -> Bool {
        switch encodedBefore {
        case 0xC0, 0xC1: byte < 0xC0
        case 0xE0: byte < 0xA0
        case 0xF0: byte < 0x90
        default: false
        }
    }

    private mutating func takeBackslash(_ output: inout [UInt8]) -> HTTPFault? {
        found.insert(.backslash)
        guard !interpreting.contains(.backslash) else { return separate(&output) }
        appendEncoded(ASCIIByte.backslash, &output)
        return nil
    }

    private mutating func takeSemicolon(_ output: inout [UInt8]) {
        found.insert(.pathParameters)
        if interpreting.contains(.pathParameters) {
            isInParameters = true
        } else {
            append(ASCIIByte.semicolon, &output)
        }
    }

    private func append(_ byte: UInt8, _ output: inout [UInt8]) {
        if !isInParameters { output.append(byte) }
    }

    private func appendEncoded(_ byte: UInt8, _ output: inout [UInt8]) {
        guard !isInParameters else { return }
        PercentEncoding.append(byte, to: &output)
    }

    private mutating func separate(_ output: inout [UInt8]) -> HTTPFault? {
        if let fault = endSegment(isLast: false, &output) { return fault }
        output.append(ASCIIByte.slash)
        segmentStart = output.count
        return nil
    }

    /// Ends a segment; the output ends in a slash and the segment. If the segment is dropped, so is
    /// the slash before it, unless the path ends here.
    private mutating func endSegment(isLast: Bool, _ output: inout [UInt8]) -> HTTPFault? {
        isInParameters = false
        encodedBefore = 0
        let byteCount = output.count - segmentStart
        guard byteCount > 0 else {
            guard !isLast else { return nil }
            found.insert(.emptySegments)
            if interpreting.contains(.emptySegments) { output.removeLast() }
            return nil
        }
        guard byteCount <= 2, output[segmentStart] == ASCIIByte.period,
            output[output.count - 1] == ASCIIByte.period
        else { return nil }
        found.insert(.dotSegments)
        hasDotSegment = true
        guard interpreting.contains(.dotSegments) else { return nil }
        output.removeLast(byteCount)
        if byteCount == 2 {
            output.removeLast()
            guard let parent = output.lastIndex(of: ASCIIByte.slash) else { return .dotSegment }
            output.removeLast(output.count - parent - 1)
        }
        if !isLast { output.removeLast() }
        return nil
    }
}
