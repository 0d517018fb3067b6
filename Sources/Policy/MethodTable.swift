/// The routes of one path pattern and host by method.
struct MethodTable: Sendable {
    private struct Entry {
        var method: [UInt8]
        /// The index of a route, or below zero the complement of a ``HeaderChoice``'s index.
        var answer: Int
    }

    private static let get = Array("GET".utf8)
    private static let head = Array("HEAD".utf8)

    private var entries: [Entry] = []
    private var anyMethodAnswer: Int?

    /// - Parameters:
    ///   - named: the answers by method name.
    ///   - any: the answer for every other method.
    init(named: [(method: String, answer: Int)], any: Int?) {
        entries = named.map { Entry(method: Array($0.method.utf8), answer: $0.answer) }
        anyMethodAnswer = any
    }

    /// The answer that names `method`; else, for HEAD, the one that names GET; else the one for all
    /// other methods.
    func answer(method: Span<UInt8>) -> Int? {
        if let answer = named(method) { return answer }
        if isSame(method, Self.head), let answer = named(Self.get.span) { return answer }
        return anyMethodAnswer
    }

    private func named(_ method: Span<UInt8>) -> Int? {
        for index in 0..<entries.count where isSame(method, entries[index].method) {
            return entries[index].answer
        }
        return nil
    }

    @inline(__always)
    private func isSame(_ method: Span<UInt8>, _ name: [UInt8]) -> Bool {
        guard method.count == name.count else { return false }
        for index in 0..<name.count where method[index] != name[index] { return false }
        return true
    }
}
