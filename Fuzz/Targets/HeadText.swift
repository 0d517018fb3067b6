import Bytes
import HTTP

/// A field of a head as bytes, so that two heads compare whatever their offsets are.
struct FieldText: Equatable {
    var name: [UInt8]
    var value: [UInt8]
    var known: KnownField
    var hasUnderscore: Bool

    init(_ field: FieldRange, of bytes: [UInt8]) {
        name = bytes.text(field.name)
        value = bytes.text(field.value)
        known = field.known
        hasUnderscore = field.hasUnderscore
    }

    var line: [UInt8] { name + Array(": ".utf8) + value + Array("\r\n".utf8) }
}

extension [UInt8] {
    /// Traps where the range lies outside: then the parser was wrong.
    func text(_ range: Range32) -> [UInt8] { Array(self[range.offsets]) }

    /// Checks that a head that was read completely consists of lines that end in CRLF, and has no
    /// other control byte than HTAB.
    func checkHead() throws(FuzzFinding) {
        for (index, byte) in enumerated() {
            switch byte {
            case 0x0A:
                try FuzzFinding.require(
                    index > 0 && self[index - 1] == 0x0D, "a bare LF at \(index)")
            case 0x0D:
                try FuzzFinding.require(
                    index + 1 < count && self[index + 1] == 0x0A, "a bare CR at \(index)")
            case 0x09: break
            case ..<0x20, 0x7F: throw FuzzFinding("a control byte at \(index)")
            default: break
            }
        }
    }
}

extension HeadLimits {
    /// Small, so that short inputs reach them.
    static let tight = HeadLimits(
        headByteCountMax: 512, fieldCountMax: 12, targetByteCountMax: 128)
    /// For what is written anew, with more white space than it came with.
    static let rewritten = HeadLimits(
        headByteCountMax: 1 << 16, fieldCountMax: 12, targetByteCountMax: 1 << 16)
}

/// Everything that a parser says of a head, as bytes.
protocol HeadText: Equatable {
    var outcome: HeadOutcome { get }
    var byteCount: Int { get set }
    /// The bytes of the same head, written anew.
    var written: [UInt8] { get }
}

extension HeadText {
    /// A head is read alike however it is cut; written anew from what was read, it reads the same.
    /// Returns it where it is complete. `read` reads bytes in pieces that end at `cuts`.
    static func checked(
        _ bytes: [UInt8], read: (_ bytes: [UInt8], _ cuts: [Int], HeadLimits) -> Self
    ) throws -> Self? {
        let whole = read(bytes, [bytes.count], .tight)
        for cuts in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                whole, read(bytes, cuts, .tight), "cut otherwise, the head reads otherwise")
        }
        guard whole.outcome == .complete else { return nil }
        try Array(bytes[..<whole.byteCount]).checkHead()
        let written = whole.written
        var again = read(written, [written.count], .rewritten)
        again.byteCount = whole.byteCount
        try FuzzFinding.requireEqual(whole, again, "written anew, the head reads otherwise")
        return whole
    }
}
