/// Names of fields that a client must not send, however it spells them.
///
/// Servers turn names into variables (CGI, WSGI, Rack, PHP) and back: case is lost, `-` and `_`
/// become one, and with some every other sign as well. So ASCII case is folded, and each byte that
/// is neither letter nor digit counts as `-`.
public struct FieldNameSet: Sendable {
    private struct Entry {
        var start: Int
        var byteCount: Int
        var isPrefix: Bool
    }

    private var folded: [UInt8] = []
    private var entries: [Entry] = []
    /// Folded first bytes: most names are told apart by it.
    private var firstBytes = ByteSet(low: 0, high: 0)

    /// - Parameters:
    ///   - exact: whole names.
    ///   - prefixes: starts of names, as `x-attest-`.
    public init(exact: [String], prefixes: [String]) {
        for name in exact { insert(name, isPrefix: false) }
        for name in prefixes { insert(name, isPrefix: true) }
    }

    public func contains(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty, firstBytes.contains(Self.fold(name[0])) else { return false }
        for entry in entries {
            let isCandidate =
                entry.isPrefix ? name.count >= entry.byteCount : name.count == entry.byteCount
            if isCandidate, starts(name, with: entry) { return true }
        }
        return false
    }

    private mutating func insert(_ name: String, isPrefix: Bool) {
        let bytes = Array(name.utf8)
        guard let first = bytes.first else { return }
        entries.append(Entry(start: folded.count, byteCount: bytes.count, isPrefix: isPrefix))
        folded += bytes.map(Self.fold)
        let bit = UInt64(Self.fold(first))
        firstBytes = ByteSet(
            low: firstBytes.low | (bit < 64 ? 1 << bit : 0),
            high: firstBytes.high | (bit < 64 ? 0 : 1 << (bit & 63)))
    }

    private func starts(_ name: Span<UInt8>, with entry: Entry) -> Bool {
        let bytes = folded.span
        // From the end: names here differ there, not in `x-`.
        var index = entry.byteCount
        while index > 0 {
            index &-= 1
            guard Self.fold(name[index]) == bytes[entry.start &+ index] else { return false }
        }
        return true
    }

    @inline(__always)
    private static func fold(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0x41...0x5A: byte | 0x20
        case 0x30...0x39, 0x61...0x7A: byte
        default: 0x2D
        }
    }
}
