/// Bytes by name, as the grammars of RFC 9110, RFC 9112 and RFC 3986 name them.
enum ASCIIByte {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let hash: UInt8 = 0x23
    static let quote: UInt8 = 0x22
    static let percent: UInt8 = 0x25
    static let asterisk: UInt8 = 0x2A
    static let comma: UInt8 = 0x2C
    static let period: UInt8 = 0x2E
    static let slash: UInt8 = 0x2F
    static let zero: UInt8 = 0x30
    static let one: UInt8 = 0x31
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let question: UInt8 = 0x3F
    static let at: UInt8 = 0x40
    static let leftBracket: UInt8 = 0x5B
    static let backslash: UInt8 = 0x5C
    static let rightBracket: UInt8 = 0x5D
    static let underscore: UInt8 = 0x5F
}

/// A set of ASCII bytes as 128 bits: two constants in the code, no table in memory.
struct ByteSet: Equatable {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (word &>> UInt64(byte & 0x3F)) & 1 != 0
    }

    /// `tchar`: letters, digits and ``!#$%&'*+-.^_`|~`` (RFC 9110 section 5.6.2).
    static let token = ByteSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    /// The bytes of a request target: visible ASCII except `#`, which starts a fragment.
    static let target = ByteSet(low: 0xffff_fff6_0000_0000, high: 0x7fff_ffff_ffff_ffff)
    /// `pchar` without `%` and `;` (RFC 3986 section 3.3): bytes that stand for themselves in a
    /// path segment.
    static let pathPlain = ByteSet(low: 0x27ff_7fd2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
    /// `[ ] ^ |`, which a path may not hold but which browsers leave in paths unencoded (they are
    /// not in the path percent-encode set of the URL standard, or were not).
    static let pathTolerated = ByteSet(low: 0, high: 0x1000_0000_6800_0000)
    /// `reg-name` without `%` (RFC 3986 section 3.2.2).
    static let registeredName = ByteSet(low: 0x2bff_7fd2_0000_0000, high: 0x47ff_fffe_87ff_fffe)
}
