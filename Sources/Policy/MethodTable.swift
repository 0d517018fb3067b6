/// The routes of one path pattern by method.
struct MethodTable: Sendable {
    private struct Entry {
        var method: [UInt8]
        var route: Int
    }

    private static let get = Array("GET".utf8)
    private static let head = Array("HEAD".utf8)

    private var entries: [Entry] = []
    private var anyMethodRoute: Int?

    /// Adds a route; empty `methods` stand for every method that no other route names.
    ///
    /// - Returns: the route that takes one of these methods already; then nothing was added.
    mutating func insert(route: Int, methods: [String]) -> Int? {
        guard !methods.isEmpty else {
            if let anyMethodRoute { return anyMethodRoute }
            anyMethodRoute = route
            return nil
        }
        var added: [Entry] = []
        for method in methods.map({ Array($0.utf8) }) {
            if let other = entries.first(where: { $0.method == method }) { return other.route }
            added.append(Entry(method: method, route: route))
        }
        entries += added
        return nil
    }

    /// The route that names `method`, else for HEAD the one that names GET, else the one for all.
    func route(method: Span<UInt8>) -> Int? {
        if let route = named(method) { return route }
        if isSame(method, Self.head), let route = named(Self.get.span) { return route }
        return anyMethodRoute
    }

    private func named(_ method: Span<UInt8>) -> Int? {
        for index in 0..<entries.count where isSame(method, entries[index].method) {
            return entries[index].route
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
