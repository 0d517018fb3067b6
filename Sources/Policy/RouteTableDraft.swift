import HTTP

/// A route table that is being made.
struct RouteTableDraft {
    /// The place of routes with this pattern and this host, or for every host.
    private struct Place: Hashable {
        var host: HostPattern?
        var isPrefix: Bool
        var path: [UInt8]
    }

    fileprivate struct Methods {
        var named: [(method: String, choice: HeaderChoice)] = []
        var any = HeaderChoice()
    }

    /// The equivalence by which paths are compared.
    private let equivalence: PathEquivalence
    /// The hosts, in the order in which they were first named.
    private(set) var hosts: [HostPattern] = []
    private(set) var conditions: [HeaderCondition] = []
    private var places: [Place: Methods] = [:]
    private var problems: [RouteProblem] = []

    init(_ equivalence: PathEquivalence) { self.equivalence = equivalence }

    mutating func insert(_ route: Route, _ index: Int) {
        if let kind = problem(inserting: route, index) {
            problems.append(RouteProblem(routeIndex: index, kind: kind))
        }
    }

    private mutating func problem(inserting route: Route, _ index: Int) -> RouteProblem.Kind? {
        for method in route.methods where !isMethod(method) { return .methodInvalid(method) }
        let (isPrefix, text) =
            switch route.path {
            case .exact(let text): (false, text)
            case .prefix(let text): (true, text)
            }
        guard !isPrefix || text.utf8.last == 0x2F else { return .prefixWithoutSlash }
        let path: [UInt8]
        do {
            path = try equivalence.representative(
                of: TargetPath.normalize(pattern: Array(text.utf8)), keepsEnding: isPrefix)
        } catch { return .pathInvalid(error) }
        guard let required = bits(of: route.headers) else { return .tooManyConditions }
        let alternative = HeaderChoice.Alternative(
            route: index, required: required, conditions: route.headers)
        for host in route.hosts where !hosts.contains(host) { hosts.append(host) }
        var found: RouteProblem.Kind?
        for host in route.hosts.isEmpty ? [nil] : route.hosts.map(Optional.some) {
            let place = Place(host: host, isPrefix: isPrefix, path: path)
            let kind = places[place, default: Methods()].insert(alternative, route.methods)
            found = found ?? kind
        }
        return found
    }

    /// The bits of the conditions, or nil if no bit is left.
    private mutating func bits(of headers: [HeaderCondition]) -> UInt64? {
        var bits: UInt64 = 0
        for condition in headers {
            let index = conditions.firstIndex(of: condition) ?? conditions.count
            guard index < RouteTable.conditionCountMax else { return nil }
            if index == conditions.count { conditions.append(condition) }
            bits |= 1 << UInt64(index)
        }
        return bits
    }

    /// True if a request's head may hold `name` as its method, by the rules of `RequestHead`.
    private func isMethod(_ name: String) -> Bool {
        let isSpelled = name.utf8.allSatisfy { byte in
            (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
                || byte == 0x5F
        }
        return isSpelled && !name.isEmpty && name.utf8.count <= 32 && name != "CONNECT"
    }

    struct Frozen {
        /// The tables, one for each class of hosts.
        var tables: [PathTable]
        var choices: [HeaderChoice]
        var problems: [RouteProblem]
    }

    func freeze(_ hostIndex: HostIndex) -> Frozen {
        var choices: [HeaderChoice] = []
        var problems = problems
        func answer(_ choice: HeaderChoice) -> Int {
            if choice.alternatives.count == 1, choice.alternatives[0].required == 0 {
                return choice.alternatives[0].route
            }
            for route in choice.unreachable {
                let kind = RouteProblem.Kind.shadowed(by: choice.alternatives[0].route)
                let isTold = problems.contains { $0.routeIndex == route }
                if !isTold { problems.append(RouteProblem(routeIndex: route, kind: kind)) }
            }
            choices.append(choice)
            return ~(choices.count - 1)
        }
        let frozen = places.mapValues { methods in
            MethodTable(
                named: methods.named.map { ($0.method, answer($0.choice)) },
                any: methods.any.alternatives.isEmpty ? nil : answer(methods.any))
        }
        var byHost: [HostPattern?: [(place: Place, table: MethodTable)]] = [:]
        for (place, table) in frozen { byHost[place.host, default: []].append((place, table)) }
        let tables = (0...hosts.count).map { hostClass in
            var exact: [[UInt8]: MethodTable] = [:]
            var prefix: [[UInt8]: MethodTable] = [:]
            // The more specific host comes later, and replaces the other.
            for host in [nil] + hostIndex.covering(hostClass).map(Optional.some) {
                for (place, table) in byHost[host] ?? [] {
                    if place.isPrefix {
                        prefix[place.path] = table
                    } else {
                        exact[place.path] = table
                    }
                }
            }
            return PathTable(exact: exact, prefix: prefix)
        }
        problems.sort { $0.routeIndex < $1.routeIndex }
        return Frozen(tables: tables, choices: choices, problems: problems)
    }
}

extension RouteTableDraft.Methods {
    /// Empty `methods` stand for every method that no other route names.
    fileprivate mutating func insert(
        _ alternative: HeaderChoice.Alternative, _ methods: [String]
    ) -> RouteProblem.Kind? {
        guard !methods.isEmpty else { return any.insert(alternative) }
        var found: RouteProblem.Kind?
        for method in methods {
            let index = named.firstIndex { $0.method == method } ?? named.count
            if index == named.count { named.append((method, HeaderChoice())) }
            found = found ?? named[index].choice.insert(alternative)
        }
        return found
    }
}
