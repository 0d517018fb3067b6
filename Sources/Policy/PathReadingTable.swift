import Bytes
import HTTP

/// All routes of a table, matched as one kind of upstream reads paths.
final class PathReadingTable: Sendable {
    let equivalence: PathEquivalence
    var isLiteral: Bool { equivalence == .exact }

    /// The table for hosts that no route names.
    private let main: PathTable
    /// The tables for the classes of hosts from 1 on.
    private let hostTables: [PathTable]
    private let choices: [HeaderChoice]

    init(_ equivalence: PathEquivalence, _ frozen: RouteTableDraft.Frozen) {
        self.equivalence = equivalence
        main = frozen.tables[0]
        hostTables = Array(frozen.tables.dropFirst())
        choices = frozen.choices
    }

    /// - Parameter path: in normal form.
    func match(
        method: Span<UInt8>, path: Span<UInt8>, traits: RequestTraits, _ strictness: StrictnessOrder
    ) -> RouteMatch {
        let table = table(traits.hostClass)
        if isLiteral {
            return result(route(table.find(method: method, path: path), traits, strictness))
        }
        let normal = path.array
        do throws(HTTPFault) {
            let read = try equivalence.representative(of: normal)
            let found = table.find(method: method, path: read.span)
            var routes = found.isCovered ? [route(found, traits, strictness)] : []
            // The name of a prefix such as `/v1.2/*` has a period of its own.
            if let named = try name(normal, read) {
                routes += table.findNames(method: method, path: named.span)
                    .map { route($0, held: traits.heldConditions) }
            }
            return result(strictest(routes, strictness))
        } catch { return .refused(error) }
    }

    /// The route that demands most, of those that all patterns covering a path lead to. Nil if one
    /// of the patterns accepts no such request.
    private func strictest(_ routes: [Int?], _ strictness: StrictnessOrder) -> Int? {
        guard let first = routes.first, !routes.contains(nil) else { return nil }
        return routes.dropFirst().reduce(first) { strictness.stricter($0, $1) }
    }

    /// `path` with the ending of its last segment; nil if `read` also has the ending.
    private func name(_ path: [UInt8], _ read: [UInt8]) throws(HTTPFault) -> [UInt8]? {
        guard equivalence.ignoresSuffixes else { return nil }
        let named = try equivalence.representative(of: path, keepsEnding: true)
        return named == read ? nil : named
    }

    @inline(__always)
    private func table(_ hostClass: Int) -> PathTable {
        hostClass == 0 ? main : hostTables[hostClass - 1]
    }

    @inline(__always)
    private func route(
        _ found: PathTable.Found, _ traits: RequestTraits, _ strictness: StrictnessOrder
    ) -> Int? {
        let first = route(found.answer, held: traits.heldConditions)
        guard let beside = found.beside else { return first }
        return strictness.stricter(first, route(beside, held: traits.heldConditions))
    }

    @inline(__always)
    private func route(_ answer: Int?, held: UInt64) -> Int? {
        guard let answer, answer < 0 else { return answer }
        return choices[~answer].route(held: held)
    }

    private func result(_ route: Int?) -> RouteMatch {
        if let route { .route(route) } else { .none }
    }

    // MARK: what may match

    /// Every route that a request of this class of hosts may take, by its headers.
    func candidates(
        method: Span<UInt8>, path: Span<UInt8>, hostClass: Int, _ strictness: StrictnessOrder
    ) -> [Int] {
        let normal = path.array
        guard let read = try? equivalence.representative(of: normal) else { return [] }
        let table = table(hostClass)
        let found = table.find(method: method, path: read.span)
        var lists: [[Int]] = found.isCovered ? [candidates(found.answer)] : []
        if found.beside != nil {
            let beside = candidates(found.beside)
            lists[0] = beside.isEmpty ? lists[0] : stricter(lists[0], beside, strictness)
        }
        if let named = (try? name(normal, read)) ?? nil {
            lists += table.findNames(method: method, path: named.span)
                .map { candidates($0) }
        }
        guard let first = lists.first else { return [] }
        return lists.dropFirst().reduce(first) { stricter($0, $1, strictness) }
    }

    /// The routes that two patterns covering a path lead to; none if either leads nowhere.
    private func stricter(_ routes: [Int], _ others: [Int], _ strictness: StrictnessOrder) -> [Int]
    {
        routes.flatMap { route in others.compactMap { strictness.stricter(route, $0) } }
    }

    private func candidates(_ answer: Int?) -> [Int] {
        guard let answer else { return [] }
        return answer < 0 ? choices[~answer].alternatives.map(\.route) : [answer]
    }
}
