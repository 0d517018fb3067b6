import Bytes

/// Fields after a message's content (RFC 9110 section 6.5), as ranges of ``bytes``.
public struct TrailerSection: Sendable {
    public let bytes: [UInt8]
    public let fields: [FieldRange]

    init(bytes: [UInt8], fields: [FieldRange]) {
        self.bytes = bytes
        self.fields = fields
    }

    /// Reads lines of HTTP/1.1 with the empty one behind them, as strictly as those of a chunked
    /// body.
    public init(parsing bytes: [UInt8], limits: ChunkedLimits = ChunkedLimits()) throws(HTTPFault) {
        guard bytes.count <= limits.trailerByteCountMax else { throw .trailersTooLarge }
        var section = FieldSection()
        let step = section.scan(
            bytes.span, to: bytes.count, fieldCountMax: limits.trailerCountMax)
        switch step {
        case .complete where section.position == bytes.count: break
        case .complete, .incomplete, .advanced: throw .fieldWithoutColon
        case .refused(let fault): throw fault == .tooManyFields ? .trailersTooLarge : fault
        }
        guard !section.hasForbiddenTrailer(in: bytes.span) else { throw .trailerForbidden }
        self.init(bytes: bytes, fields: section.fields)
    }
}

extension ChunkedDecoder {
    /// The fields that came after the last chunk, or nil if none did.
    public var trailerSection: TrailerSection? {
        trailers.isEmpty ? nil : TrailerSection(bytes: trailerBytes, fields: trailers)
    }
}

extension FieldSection {
    /// RFC 9110 section 6.5.1: what frames or routes the message comes before it, never after.
    func hasForbiddenTrailer(in bytes: Span<UInt8>) -> Bool {
        for field in fields
        where KnownField(foldingUnderscores: bytes.extracting(field.name)).isFraming {
            return true
        }
        return false
    }
}

extension KnownField {
    /// Whether a field of this name means something after the content: not who asks for what, whom
    /// the message is for or how to read it (RFC 9110 section 6.5.1).
    public var mayTrail: Bool {
        switch self {
        case .other, .date, .server, .eTag: true
        default: false
        }
    }
}
