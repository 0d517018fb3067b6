import Bytes

/// The statements of `Content-Length`, `Transfer-Encoding` and `Connection` of one message.
struct MessageFraming: Sendable {
    private(set) var contentLength: UInt64?
    private(set) var isChunked = false
    private(set) var closes = false
    private(set) var keepsAlive = false
    private(set) var upgrades = false
    /// Further names in `Connection`: fields that are not forwarded.
    private(set) var connectionTokens: [Range32] = []

    private static let close = Array("close".utf8)
    private static let keepAlive = Array("keep-alive".utf8)
    private static let upgrade = Array("upgrade".utf8)
    private static let chunked = Array("chunked".utf8)
    /// The most names in `Connection`. Each field of the head is compared with every one of them,
    /// and a client that sends more than a few wants to make the gateway work.
    static let nominatedCountMax = 32

    mutating func reset() {
        contentLength = nil
        isChunked = false
        closes = false
        keepsAlive = false
        upgrades = false
        if !connectionTokens.isEmpty { connectionTokens.removeAll(keepingCapacity: true) }
    }

    /// Takes one field. Fields with other names are skipped.
    mutating func take(_ field: FieldRange, in bytes: Span<UInt8>) -> HTTPFault? {
        switch field.known {
        case .contentLength: takeContentLength(bytes.extracting(field.value))
        case .transferEncoding: takeTransferEncoding(bytes.extracting(field.value))
        case .connection: takeConnection(field.value, in: bytes)
        default: nil
        }
    }

    /// True if the connection stays open after the message (RFC 9112 section 9.3).
    func keepAlive(in version: HTTPVersion) -> Bool {
        !closes && (version == .http11 || keepsAlive)
    }

    /// The fault of a message with two statements of its body's length, or one that the version
    /// does not know.
    func contradiction(in version: HTTPVersion) -> HTTPFault? {
        guard isChunked else { return nil }
        guard contentLength == nil else { return .contentLengthWithTransferEncoding }
        // RFC 9112 section 6.1: HTTP/1.0 has no transfer codings.
        return version == .http11 ? nil : .transferEncodingNotAllowed
    }

    /// True if `Connection` names the field, so that it is not forwarded.
    func nominates(_ field: FieldRange, in bytes: Span<UInt8>) -> Bool {
        !connectionTokens.isEmpty && bytes.nominates(field.name, among: connectionTokens)
    }

    private mutating func takeContentLength(_ value: Span<UInt8>) -> HTTPFault? {
        // Two equal ones are refused too: some server on the way may have taken the other reading.
        guard contentLength == nil else { return .contentLengthDuplicate }
        guard let length = ASCII.decimal(value), length <= UInt64(Int64.max) else {
            return .contentLengthInvalid
        }
        contentLength = length
        return nil
    }

    private mutating func takeTransferEncoding(_ value: Span<UInt8>) -> HTTPFault? {
        guard !isChunked else { return .transferEncodingDuplicate }
        if ASCII.equalsIgnoringCase(value, lowercase: Self.chunked) {
            isChunked = true
            return nil
        }
        var elements = ListElements(value)
        var hasChunked = false
        var hasOther = false
        while let element = elements.next() {
            let coding = value.extracting(element)
            // No coding may follow chunked.
            guard coding.isToken, !hasChunked else { return .transferEncodingInvalid }
            hasChunked = ASCII.equalsIgnoringCase(coding, lowercase: Self.chunked)
            hasOther = hasOther || !hasChunked
        }
        return hasChunked && hasOther ? .transferCodingUnknown : .transferEncodingInvalid
    }

    private mutating func takeConnection(_ range: Range32, in bytes: Span<UInt8>) -> HTTPFault? {
        let value = bytes.extracting(range)
        // The value that nearly every server sends; the code for elements below would find the
        // same.
        if value.isKeepAlive {
            keepsAlive = true
            return nil
        }
        var elements = ListElements(value)
        while let element = elements.next() {
            guard !element.isEmpty else { continue }
            let token = value.extracting(element)
            guard token.isToken else { return .connectionInvalid }
            if ASCII.equalsIgnoringCase(token, lowercase: Self.keepAlive) {
                keepsAlive = true
            } else if ASCII.equalsIgnoringCase(token, lowercase: Self.close) {
                closes = true
            } else if ASCII.equalsIgnoringCase(token, lowercase: Self.upgrade) {
                upgrades = true
            } else {
                guard !KnownField(foldingUnderscores: token).isEndToEnd else {
                    return .connectionNominatesEndToEnd
                }
                guard connectionTokens.count < Self.nominatedCountMax else {
                    return .connectionInvalid
                }
                let start = Int(range.start) + element.lowerBound
                connectionTokens.append(Range32(start, start + element.count))
            }
        }
        return nil
    }
}

extension Span where Element == UInt8 {
    /// True if the bytes, which must hold no control byte, are `keep-alive`, folding ASCII case.
    fileprivate var isKeepAlive: Bool {
        guard count == 10 else { return false }
        let spaces: UInt64 = 0x2020_2020_2020_2020
        // "keep-ali" and "ep-alive", the first byte in the lowest one.
        return littleEndianWord(at: 0) | spaces == 0x696C_612D_7065_656B
            && littleEndianWord(at: 2) | spaces == 0x6576_696C_612D_7065
    }

    /// True if `name` is one of `tokens`, which are ranges of these bytes, folding ASCII case.
    func nominates(_ name: Range32, among tokens: [Range32]) -> Bool {
        for token in tokens
        where ASCII.equalsIgnoringCase(extracting(token), extracting(name)) {
            return true
        }
        return false
    }
}
