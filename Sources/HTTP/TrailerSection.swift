import Bytes

/// Fields after a message's content (RFC 9110 section 6.5), as ranges of ``bytes``.
public struct TrailerSection: Sendable {
    public let bytes: [UInt8]
    public let fields: [FieldRange]

    init(bytes: [UInt8], fields: [FieldRange]) {
        self.bytes = bytes
        self.fields = fields
    }

    /// Parses lines of HTTP/1.1 and the empty one behind them, as strictly as those of a chunked
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
    /// True if a trailer frames or routes the message: such fields must come before the content
    /// (RFC 9110 section 6.5.1).
    func hasForbiddenTrailer(in bytes: Span<UInt8>) -> Bool {
        for field in fields
        where KnownField(foldingUnderscores: bytes.extracting(field.name)).isFraming {
            return true
        }
        return false
    }
}

extension KnownField {
    /// True if a field of this name has a meaning after the content. Fields about the sender, the
    /// receiver or the way to read the message have none (RFC 9110 section 6.5.1).
    public var mayTrail: Bool {
        switch self {
        case .other, .date, .server, .eTag: true
        default: false
        }
    }
}
