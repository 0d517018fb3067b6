/// The routes of one class of hosts by path, then by method.
struct PathTable: Sendable {
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

    /// What a path and a method lead to: answers of ``MethodTable``.
    struct Found {
        /// Of the deciding pattern.
        var answer: Int?
        /// Of the prefix that also covers the path where the deciding one does by its slash only.
        var beside: Int?
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
        guard let table = slash.prefix ?? longestPrefix else { return Found() }
        return Found(answer: prefixTables[table].answer(method: method))
    }

    /// What a prefix leads to that covers `path` as its own name, with or without its slash.
    func findName(method: Span<UInt8>, path: Span<UInt8>) -> Int? {
        var hash = PathIndex.hashStart
        var hashBefore = hash
        for index in 0..<path.count {
            hashBefore = hash
            hash = PathIndex.hash(hash, path[index])
        }
        let table = slashTables(path, hash: hash, hashBefore: hashBefore).prefix
        return table.flatMap { prefixTables[$0].answer(method: method) }
    }

    /// The patterns that cover `path` when its trailing slash is taken away or one is added.
    @inline(__always)
    private func slashTables(
        _ path: Span<UInt8>, hash: UInt64, hashBefore: UInt64
    ) -> (exact: Int?, prefix: Int?) {
        let byteCount = path.count
        if path[byteCount - 1] == 0x2F {
            // `/x//` is not `/x/` with one more: only where empty segments are read literally.
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
