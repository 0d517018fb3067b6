/// The routes of one class of hosts by path, then by method. Requests refer to it.
final class PathTable: Sendable {
    private let exact: PathIndex
    private let exactTables: [MethodTable]
    private let prefix: PathIndex
    private let prefixTables: [MethodTable]

    init(exact: [[UInt8]: MethodTable], prefix: [[UInt8]: MethodTable]) {
        let exact = Array(exact)
        self.exact = PathIndex(exact.map(\.key))
        exactTables = exact.map(\.value)
        let prefix = Array(prefix)
        self.prefix = PathIndex(prefix.map(\.key))
        prefixTables = prefix.map(\.value)
    }

    /// The answers of ``MethodTable`` that a path and a method lead to.
    struct Found {
        /// The answer of the deciding pattern.
        var answer: Int?
        /// The answer of the prefix that also covers the path, if the deciding one does so only by
        /// its slash.
        var beside: Int?
        /// True if a pattern covers the path. If it has no answer, it does not accept the method.
        var isCovered = true
    }

    func find(method: Span<UInt8>, path: Span<UInt8>) -> Found {
        var hash = PathIndex.hashStart
        var hashBefore = hash
        var longestPrefix: Int?
        for index in 0..<path.count {
            hashBefore = hash
            hash = PathIndex.hash(hash, path[index])
            if path[index] == 0x2F,
                let found = prefix.value(hash: hash, path: path, byteCount: index + 1)
            {
                longestPrefix = found
            }
        }
        if let found = exact.value(hash: hash, path: path, byteCount: path.count) {
            return Found(answer: exactTables[found].answer(method: method))
        }
        let slash = slashTables(path, hash: hash, hashBefore: hashBefore)
        if let table = slash.exact {
            return Found(
                answer: exactTables[table].answer(method: method),
                beside: slash.prefix.flatMap { prefixTables[$0].answer(method: method) })
        }
        guard let table = slash.prefix ?? longestPrefix else { return Found(isCovered: false) }
        return Found(answer: prefixTables[table].answer(method: method))
    }

    /// The answers of the prefixes that cover `path`, without an ending of its last segment, as its
    /// own name, with or without its slash. Nil for a prefix that does not accept the method.
    ///
    /// Exact patterns have lost their endings, like the path that ``find(method:path:)`` gets.
    func findNames(method: Span<UInt8>, path: Span<UInt8>) -> [Int?] {
        var answers: [Int?] = []
        var hash = PathIndex.hashStart
        // The name up to here without periods and spaces at its end, and true if it is new.
        var name = (byteCount: 0, hash: hash)
        var isNew = false
        var isLonger = false
        let end = Self.endOfSegments(path)
        var start = 0
        for index in 0..<end where path[index] == 0x2F { start = index + 1 }
        var index = 0
        while true {
            let isPeriod = index < end && index >= start && path[index] == UInt8(ascii: ".")
            if isNew, isPeriod || index == end {
                let slashed = PathIndex.hash(name.hash, 0x2F)
                // Up to its first period the name is what ``find(method:path:)`` gets.
                if isLonger,
                    let table = prefix.value(
                        hash: slashed, path: path, byteCount: name.byteCount, addingSlash: true)
                {
                    answers.append(prefixTables[table].answer(method: method))
                }
                isNew = false
                isLonger = true
            }
            guard index < end else { return answers }
            let blankCount = PathEquivalence.blankByteCount(path, at: index)
            let next = index + max(1, blankCount)
            for byte in index..<next { hash = PathIndex.hash(hash, path[byte]) }
            index = next
            if index > start, !isPeriod, blankCount == 0 {
                name = (index, hash)
                isNew = true
            }
        }
    }

    /// The start of the slashes at the end of `path`.
    private static func endOfSegments(_ path: Span<UInt8>) -> Int {
        var end = path.count
        while end > 0, path[end - 1] == 0x2F { end -= 1 }
        return end
    }

    /// The patterns that cover `path` when its trailing slash is taken away or one is added.
    @inline(__always)
    private func slashTables(
        _ path: Span<UInt8>, hash: UInt64, hashBefore: UInt64
    ) -> (exact: Int?, prefix: Int?) {
        let byteCount = path.count
        if path[byteCount - 1] == 0x2F {
            // `/x//` is not `/x/` with one slash more, except if empty segments are read literally.
            let isSingle = byteCount > 1 && path[byteCount - 2] != 0x2F
            return (
                isSingle
                    ? exact.value(hash: hashBefore, path: path, byteCount: byteCount - 1) : nil,
                prefix.value(hash: hash, path: path, byteCount: byteCount)
            )
        }
        let slashed = PathIndex.hash(hash, 0x2F)
        return (
            exact.value(hash: slashed, path: path, byteCount: byteCount, addingSlash: true),
            prefix.value(hash: slashed, path: path, byteCount: byteCount, addingSlash: true)
        )
    }
}
