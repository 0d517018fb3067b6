import Bytes

/// The meaning of a complete head's fields together.
extension RequestHead {
    private static let continueExpectation = Array("100-continue".utf8)

    /// - Returns: the first contradiction; nil if there is none.
    mutating func interpret(_ bytes: Span<UInt8>) -> HTTPFault? {
        var hostField: Range32?
        var expectCount = 0
        var hasUpgradeField = false
        for index in 0..<section.fields.count {
            let field = section.fields[index]
            switch field.known {
            case .other:
                guard !field.hasUnderscore || !isFramingInDisguise(field, bytes) else {
                    return .fieldNameAmbiguous
                }
            case .host:
                guard hostField == nil else { return .hostDuplicate }
                guard Authority.isValid(bytes.extracting(field.value)) else {
                    return .hostInvalid
                }
                hostField = field.value
            case .contentLength, .transferEncoding, .connection:
                if let fault = message.take(field, in: bytes) { return fault }
            case .expect:
                expectCount += 1
                guard expectCount == 1 else { return .fieldDuplicate }
                let value = bytes.extracting(field.value)
                guard ASCII.equalsIgnoringCase(value, lowercase: Self.continueExpectation) else {
                    return .expectationUnknown
                }
            case .upgrade: hasUpgradeField = true
            case .xAppAttestFailure:
                failureReport = failureReport == nil ? field.value : .empty
            default: break
            }
        }
        if let fault = frame() ?? settleHost(hostField, bytes) { return fault }
        keepAlive = message.keepAlive(in: version)
        hasUpgrade = hasUpgradeField && message.upgrades && version == .http11
        // RFC 9110 section 10.1.1: ignored in HTTP/1.0.
        expectsContinue = expectCount == 1 && version == .http11 && hasBody
        return nil
    }

    private var hasBody: Bool { framing != .none && framing != .length(0) }

    private mutating func frame() -> HTTPFault? {
        if let fault = message.contradiction(in: version) { return fault }
        if message.isChunked {
            framing = .chunked
        } else if let contentLength = message.contentLength {
            framing = .length(contentLength)
        } else {
            framing = .none
        }
        return nil
    }

    private mutating func settleHost(_ field: Range32?, _ bytes: Span<UInt8>) -> HTTPFault? {
        guard field != nil || version == .http10 else { return .hostMissing }
        host = (authority ?? field).map { Authority.withoutEmptyPort($0, in: bytes) }
        guard let authority, let field else { return nil }
        // RFC 9112 section 3.2.2 gives precedence to the target. A client that sends two that
        // differ means mischief.
        let one = Authority.withoutPort(schemePort, authority, in: bytes)
        let other = Authority.withoutPort(schemePort, field, in: bytes)
        return bytes.nominates(other, among: [one]) ? nil : .hostMismatch
    }

    private func isFramingInDisguise(_ field: FieldRange, _ bytes: Span<UInt8>) -> Bool {
        KnownField(foldingUnderscores: bytes.extracting(field.name)).isFraming
    }
}

extension RequestHead {
    /// True if `TE` says that the client accepts trailers (RFC 9110 sections 6.5.1 and 10.1.4).
    public func takesTrailers(in bytes: Span<UInt8>) -> Bool {
        guard has(.te) else { return false }
        for field in fields where field.known == .te {
            let value = bytes.extracting(field.value)
            var elements = ListElements(value)
            while let element = elements.next() {
                if ASCII.equalsIgnoringCase(value.extracting(element), lowercase: Self.trailers) {
                    return true
                }
            }
        }
        return false
    }

    private static let trailers = Array("trailers".utf8)
}
