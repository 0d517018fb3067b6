import Bytes

/// Names of fields that a client must not send, in any spelling.
///
/// Servers turn names into variables (CGI, WSGI, Rack, PHP) and back: case is lost, `-` and `_`
/// become one, and in some servers every other sign as well. So names are compared in the form of
/// ``FoldedName``.
public struct FieldNameSet: Sendable {
    private struct Entry {
        var start: Int
        var byteCount: Int
        var isPrefix: Bool
    }

    private var folded: [UInt8] = []
    private var entries: [Entry] = []
    /// The folded first bytes, which tell most names apart.
    private var firstBytes = ByteSet(low: 0, high: 0)
    /// A bit for each length that a name may have, which tells most of the others apart.
    private var byteCounts: UInt64 = 0

    /// - Parameters:
    ///   - exact: whole names.
    ///   - prefixes: prefixes of names, such as `x-attest-`.
    public init(exact: [String], prefixes: [String]) {
        for name in exact { insert(name, isPrefix: false) }
        for name in prefixes { insert(name, isPrefix: true) }
    }

    public func contains(_ name: Span<UInt8>) -> Bool {
        guard Self.bit(of: name.count) & byteCounts != 0,
            firstBytes.contains(FoldedName.fold(name[0]))
        else { return false }
        return isFound(name)
    }

    private func isFound(_ name: Span<UInt8>) -> Bool {
        let bytes = folded.span
        let entries = entries.span
        for index in entries.indices {
            let entry = entries[index]
            let isCandidate =
                entry.isPrefix ? name.count >= entry.byteCount : name.count == entry.byteCount
            guard isCandidate else { continue }
            let known = bytes.extracting(entry.start..<entry.start &+ entry.byteCount)
            if Self.starts(name, with: known) { return true }
        }
        return false
    }

    /// The bit of a length. Lengths from 63 on share one; there is no name without a byte.
    private static func bit(of byteCount: Int) -> UInt64 {
        byteCount == 0 ? 0 : 1 &<< UInt64(min(byteCount, 63))
    }

    private mutating func insert(_ name: String, isPrefix: Bool) {
        let bytes = Array(name.utf8)
        guard let first = bytes.first else { return }
        entries.append(Entry(start: folded.count, byteCount: bytes.count, isPrefix: isPrefix))
        folded += bytes.map { FoldedName.fold($0) }
        let bit = UInt64(FoldedName.fold(first))
        firstBytes = ByteSet(
            low: firstBytes.low | (bit < 64 ? 1 << bit : 0),
            high: firstBytes.high | (bit < 64 ? 0 : 1 << (bit & 63)))
        let own = Self.bit(of: bytes.count)
        byteCounts |= isPrefix ? ~(own - 1) : own
    }

    /// True if `name` starts with `known`. Compares eight bytes at a time and from the end: names
    /// here differ there, not in `x-`.
    private static func starts(_ name: Span<UInt8>, with known: Span<UInt8>) -> Bool {
        var end = known.count
        while end >= 8 {
            guard
                FoldedName.fold(name.littleEndianWord(at: end &- 8))
                    == known.littleEndianWord(at: end &- 8)
            else { return false }
            end &-= 8
        }
        while end > 0 {
            end &-= 1
            guard FoldedName.fold(name[end]) == known[end] else { return false }
        }
        return true
    }
}
