import Bytes

/// An ASN.1 tag (X.690 section 8.1.2).
public struct DERTag: Hashable, Sendable {
    /// The class and the constructed bit: the first byte's upper three bits.
    public let form: UInt8
    public let number: UInt32

    public static let boolean = DERTag(form: 0x00, number: 1)
    public static let integer = DERTag(form: 0x00, number: 2)
    public static let bitString = DERTag(form: 0x00, number: 3)
    public static let octetString = DERTag(form: 0x00, number: 4)
    public static let null = DERTag(form: 0x00, number: 5)
    public static let objectIdentifier = DERTag(form: 0x00, number: 6)
    public static let enumerated = DERTag(form: 0x00, number: 10)
    public static let utf8String = DERTag(form: 0x00, number: 12)
    public static let sequence = DERTag(form: 0x20, number: 16)
    public static let set = DERTag(form: 0x20, number: 17)
    public static let utcTime = DERTag(form: 0x00, number: 23)
    public static let generalizedTime = DERTag(form: 0x00, number: 24)

    /// A context-specific constructed tag, such as `[1]`.
    public static func context(_ number: UInt32) -> DERTag { DERTag(form: 0xA0, number: number) }
}

/// Takes DER elements off the front of a span: definite, minimal lengths (X.690 section 10.1). A
/// read returns nil, and never traps, if the next element is not DER or passes the end.
public struct DERReader: ~Escapable {
    private let source: Span<UInt8>
    private var bytes: ByteReader

    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>) {
        source = bytes
        self.bytes = ByteReader(bytes)
    }

    public var isAtEnd: Bool { bytes.isAtEnd }

    /// The tag of the next element, which is not read; nil if there is none.
    public var nextTag: DERTag? {
        var ahead = self
        return ahead.readTag()
    }

    /// The next element's tag and content.
    @_lifetime(copy self)
    public mutating func readElement() -> DERElement? {
        guard let tag = readTag(), let byteCount = readLength(),
            let content = bytes.readSpan(byteCount: byteCount)
        else { return nil }
        return DERElement(tag: tag, content: content)
    }

    /// The content of the next element; nil unless it has this tag.
    @_lifetime(copy self)
    public mutating func read(_ tag: DERTag) -> Span<UInt8>? {
        guard let element = readElement(), element.tag == tag else { return nil }
        return element.content
    }

    /// The next element whole, with its tag and length; nil unless it has this tag.
    @_lifetime(copy self)
    public mutating func readEncoded(_ tag: DERTag) -> Span<UInt8>? {
        let start = bytes.offset
        guard read(tag) != nil else { return nil }
        return source.extracting(start..<bytes.offset)
    }

    private mutating func readTag() -> DERTag? {
        guard let first = bytes.readByte() else { return nil }
        let form = first & 0xE0
        guard first & 0x1F == 0x1F else {
            return DERTag(form: form, number: UInt32(first & 0x1F))
        }
        // Four groups of seven bits: enough for every tag in use, and no overflow.
        var number: UInt32 = 0
        for index in 0..<4 {
            guard let byte = bytes.readByte(), index > 0 || byte != 0x80 else { return nil }
            number = number << 7 | UInt32(byte & 0x7F)
            if byte & 0x80 == 0 { return number >= 31 ? DERTag(form: form, number: number) : nil }
        }
        return nil
    }

    private mutating func readLength() -> Int? {
        guard let first = bytes.readByte() else { return nil }
        guard first >= 0x80 else { return Int(first) }
        let byteCount = Int(first & 0x7F)
        // 0x80 is BER's indefinite length; four bytes are more than any object here may have.
        guard byteCount >= 1, byteCount <= 4,
            let length = bytes.readInteger(byteCount: byteCount)
        else { return nil }
        let shortestMin: UInt64 = byteCount == 1 ? 0x80 : 1 << UInt64((byteCount - 1) * 8)
        return length >= shortestMin ? Int(length) : nil
    }
}

/// One element: its tag, and its content in place.
public struct DERElement: ~Escapable {
    public let tag: DERTag
    public let content: Span<UInt8>

    @_lifetime(copy content)
    public init(tag: DERTag, content: Span<UInt8>) {
        self.tag = tag
        self.content = content
    }
}
