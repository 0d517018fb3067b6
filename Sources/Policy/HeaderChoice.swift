/// Routes with the same path, host and method, which differ in their conditions on headers.
struct HeaderChoice: Sendable {
    struct Alternative: Sendable {
        var route: Int
        /// The bits of the conditions that must hold.
        var required: UInt64
        var conditions: [HeaderCondition]

        /// The rank: more conditions come first, then more exact ones.
        var rank: Int {
            let exactCount = conditions.filter {
                if case .equals = $0.test { true } else { false }
            }.count
            return conditions.count << 8 | exactCount
        }
    }

    /// The alternatives, the most specific first.
    private(set) var alternatives: [Alternative] = []

    /// Adds an alternative.
    ///
    /// - Returns: the reason why it cannot be told from an existing one; then nothing was added.
    mutating func insert(_ alternative: Alternative) -> RouteProblem.Kind? {
        for other in alternatives where other.rank == alternative.rank {
            if other.required == alternative.required {
                return .neverMatches(earlier: other.route)
            }
            let isDisjoint = alternative.conditions.contains { condition in
                other.conditions.contains { $0.excludes(condition) }
            }
            if !isDisjoint { return .undecided(earlier: other.route) }
        }
        let place = alternatives.firstIndex { $0.rank < alternative.rank } ?? alternatives.count
        alternatives.insert(alternative, at: place)
        return nil
    }

    /// The first route whose conditions all hold.
    func route(held: UInt64) -> Int? {
        for alternative in alternatives where alternative.required & held == alternative.required {
            return alternative.route
        }
        return nil
    }

    /// The routes that no request reaches, because more specific ones take all requests that they
    /// ask for.
    var unreachable: [Int] {
        // A single route always has a request; and only a handful share a path and a method.
        guard alternatives.count > 1 else { return [] }
        let names = Set(alternatives.flatMap { $0.conditions.map(\.name) }).sorted()
        var states: [[HeaderCondition.Test?]] = []
        var stateCount = 1
        for name in names {
            let tests = Set(
                alternatives.flatMap(\.conditions).filter { $0.name == name }.map(\.test))
            // `present` as a state: sent with a value that no other condition asks for.
            let values = tests.filter { if case .equals = $0 { true } else { false } }
            states.append([.absent, .present] + values.map { $0 })
            stateCount *= states[states.count - 1].count
            // More states than an operator writes: no route is reported then.
            guard stateCount <= 4096 else { return [] }
        }
        var reached: Set<Int> = []
        for number in 0..<stateCount {
            var rest = number
            var sent: [String: HeaderCondition.Test] = [:]
            for (name, choices) in zip(names, states) {
                sent[name] = choices[rest % choices.count]
                rest /= choices.count
            }
            let taken = alternatives.first { alternative in
                alternative.conditions.allSatisfy { condition in
                    let test = sent[condition.name]
                    return test == condition.test
                        || condition.test == .present && test != .absent
                }
            }
            if let taken { reached.insert(taken.route) }
        }
        return alternatives.map(\.route).filter { !reached.contains($0) }
    }
}
