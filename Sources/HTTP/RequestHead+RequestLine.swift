import Bytes

/// The request line (RFC 9112 section 3).
extension RequestHead {
    /// Skips one empty line before the request line (RFC 9112 section 2.2).
    mutating func skipEmptyLine(_ bytes: Span<UInt8>, _ end: Int) -> FieldSection.Step {
        guard position < end else { return .incomplete }
        if bytes[position] == ASCIIByte.carriageReturn {
            guard position + 1 < end else { return .incomplete }
            guard bytes[position + 1] == ASCIIByte.lineFeed else {
                return .refused(.bareCarriageReturn)
            }
            position += 2
        }
        method = Range32(position, position)
        phase = .method
        return .advanced
    }

    mutating func scanMethod(_ bytes: Span<UInt8>, _ end: Int) -> FieldSection.Step {
        let start = Int(method.start)
        while position < end {
            let byte = bytes[position]
            guard byte != ASCIIByte.space else { break }
            guard ByteSet.token.contains(byte), !isLowerCaseLetter(byte) else {
                return .refused(lineFault(byte, else: .methodInvalid))
            }
            guard position - start < Method.byteCountMax else { return .refused(.methodTooLong) }
            methodPacked = methodPacked &<< 8 | UInt64(byte)
            position += 1
        }
        guard position < end else { return .incomplete }
        guard position > start else { return .refused(.methodInvalid) }
        method = Range32(start, position)
        methodKind = Method(packed: methodPacked, byteCount: position - start)
        // A gateway is not a tunnel: RFC 9110 section 9.3.6.
        guard methodKind != .connect else { return .refused(.connectNotSupported) }
        // Its answer would show the client the headers that the gateway adds for the upstream, and
        // a page the headers that its browser keeps from it. Also, some servers take its body for a
        // request.
        guard methodKind != .trace else { return .refused(.traceNotSupported) }
        position += 1
        target = Range32(position, position)
        phase = .target
        return .advanced
    }

    mutating func scanTarget(
        _ bytes: Span<UInt8>, _ end: Int, _ byteCountMax: Int
    ) -> FieldSection.Step {
        let start = Int(target.start)
        // The space behind the longest target may be read.
        let scanEnd = min(end, start + byteCountMax + 1)
        var offset = position
        while offset < scanEnd, ByteSet.target.contains(bytes[offset]) { offset &+= 1 }
        position = offset
        guard offset - start <= byteCountMax else { return .refused(.targetTooLong) }
        guard offset < end else { return .incomplete }
        let byte = bytes[offset]
        guard byte == ASCIIByte.space else {
            let fault = byte == ASCIIByte.hash ? HTTPFault.fragmentInTarget : .targetInvalid
            return .refused(lineFault(byte, else: fault))
        }
        target = Range32(start, offset)
        if let fault = interpretTarget(bytes) { return .refused(fault) }
        position = offset + 1
        phase = .version
        return .advanced
    }

    mutating func scanVersion(_ bytes: Span<UInt8>, _ end: Int) -> FieldSection.Step {
        if let fault = HTTPVersion.fault(in: bytes, from: position, to: end) {
            guard fault == .versionInvalid, position < end else { return .refused(fault) }
            // There is a line end where the version should be, or a further space.
            return .refused(lineFault(bytes[position], else: fault))
        }
        let lineEnd = position + HTTPVersion.byteCount
        guard lineEnd < end else { return .incomplete }
        guard bytes[lineEnd] == ASCIIByte.carriageReturn else {
            return .refused(lineFault(bytes[lineEnd], else: .versionInvalid))
        }
        let step = section.begin(behind: lineEnd, bytes, end)
        guard step == .advanced else { return step }
        version = bytes[lineEnd - 1] == ASCIIByte.one ? .http11 : .http10
        phase = .fields
        return step
    }

    /// The fault of a byte in the wrong place. A byte that ends the line or separates its parts has
    /// one of its own.
    private func lineFault(_ byte: UInt8, else fault: HTTPFault) -> HTTPFault {
        switch byte {
        case ASCIIByte.lineFeed: .bareLineFeed
        case ASCIIByte.carriageReturn, ASCIIByte.space, ASCIIByte.tab: .requestLineInvalid
        default: fault
        }
    }

    /// True for a lower-case letter. Methods are case-sensitive, yet some servers fold them: `post`
    /// must not slip past a route for `POST`. No registered method has lower-case letters.
    @inline(__always)
    private func isLowerCaseLetter(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A }

    private mutating func interpretTarget(_ bytes: Span<UInt8>) -> HTTPFault? {
        guard !target.isEmpty else { return .requestLineInvalid }
        let first = bytes[Int(target.start)]
        if first == ASCIIByte.slash {
            targetForm = .origin
            originTarget = target
            return nil
        }
        if first == ASCIIByte.asterisk, target.count == 1 {
            targetForm = .asterisk
            originTarget = target
            return methodKind == .options ? nil : .targetInvalid
        }
        targetForm = .absolute
        return interpretAbsoluteTarget(bytes)
    }

    /// Interprets `http://authority/path?query`. With OPTIONS a missing path and query mean `*`
    /// (RFC 9112 section 3.2.4).
    private mutating func interpretAbsoluteTarget(_ bytes: Span<UInt8>) -> HTTPFault? {
        let text = bytes.extracting(target)
        guard let scheme = Self.scheme(of: text) else { return .targetInvalid }
        let schemeByteCount = scheme.start.count
        schemePort = scheme.port
        var end = schemeByteCount
        while end < text.count, text[end] != ASCIIByte.slash, text[end] != ASCIIByte.question {
            end += 1
        }
        guard Authority.isValid(text.extracting(schemeByteCount..<end)) else {
            return .targetInvalid
        }
        let start = Int(target.start)
        authority = Range32(start + schemeByteCount, start + end)
        if end == text.count {
            if methodKind == .options { targetForm = .asterisk }
            originTarget = Range32(start + schemeByteCount - 1, start + schemeByteCount)
            return nil
        }
        originTarget = Range32(start + end, target.end)
        lacksPath = text[end] == ASCIIByte.question
        return nil
    }

    /// Gives a target like `http://a?q` the path that it stands for (RFC 9110 section 4.2.3): the
    /// authority moves over a slash of the `//`, and so do ``originTarget`` and ``host``.
    ///
    /// - Parameter bytes: the bytes of the head as they were read.
    public mutating func completeTarget(in bytes: inout [UInt8]) {
        guard lacksPath, let authority, let host else { return }
        lacksPath = false
        for index in authority.offsets { bytes[index - 1] = bytes[index] }
        bytes[authority.end - 1] = ASCIIByte.slash
        originTarget = Range32(authority.end - 1, target.end)
        self.host = Range32(Int(host.start) - 1, host.end - 1)
    }

    private static let schemes = [
        (start: Array("http://".utf8), port: Array(":80".utf8)),
        (start: Array("https://".utf8), port: Array(":443".utf8)),
    ]

    private static func scheme(of text: Span<UInt8>) -> (start: [UInt8], port: [UInt8])? {
        schemes.first { scheme in
            text.count > scheme.start.count
                && ASCII.equalsIgnoringCase(
                    text.extracting(first: scheme.start.count), lowercase: scheme.start)
        }
    }
}
