import Settings

/// Chooses the server of a request. A value: it knows the servers only by their loads.
struct Balancer {
    let policy: BalancePolicy
    /// The credits of smooth weighted round robin, by index.
    private var credits: [Int] = []

    init(_ policy: BalancePolicy) { self.policy = policy }

    /// The index of the server to use; nil if none is usable or all have been `tried`.
    ///
    /// Backups are used only if no other server can be. `key` is the hash of the sender of the
    /// request, for ``BalancePolicy/hashKey``.
    mutating func next(_ servers: [ServerLoad], key: UInt64, tried: [Int] = []) -> Int? {
        if credits.count != servers.count {
            credits = [Int](repeating: 0, count: servers.count)
        }
        return choose(servers, key: key, tried: tried, backups: false)
            ?? choose(servers, key: key, tried: tried, backups: true)
    }

    private mutating func choose(
        _ servers: [ServerLoad], key: UInt64, tried: [Int], backups: Bool
    ) -> Int? {
        func mayTake(_ index: Int) -> Bool {
            servers[index].isUsable && servers[index].isBackup == backups
                && !tried.contains(index)
        }
        switch policy {
        case .roundRobin: return inTurn(servers, where: mayTake)
        case .leastConnections:
            guard let least = leastLoaded(servers, where: mayTake) else { return nil }
            return inTurn(servers) { index in
                mayTake(index) && !Self.isLessLoaded(servers[least], than: servers[index])
            }
        case .hashKey: return highest(servers, key: key, where: mayTake)
        }
    }

    /// Smooth weighted round robin, as in nginx: each server earns its weight, the one with the
    /// most is taken and pays what all have earned. So {5, 1, 1} gives a a b a c a a, not a a a a a
    /// b c.
    private mutating func inTurn(
        _ servers: [ServerLoad], where mayTake: (Int) -> Bool
    ) -> Int? {
        var chosen: Int?
        var total = 0
        for index in servers.indices where mayTake(index) {
            credits[index] += servers[index].weight
            total += servers[index].weight
            if let best = chosen, credits[best] >= credits[index] { continue }
            chosen = index
        }
        if let chosen { credits[chosen] -= total }
        return chosen
    }

    private func leastLoaded(_ servers: [ServerLoad], where mayTake: (Int) -> Bool) -> Int? {
        var least: Int?
        for index in servers.indices where mayTake(index) {
            guard let best = least else {
                least = index
                continue
            }
            if Self.isLessLoaded(servers[index], than: servers[best]) { least = index }
        }
        return least
    }

    /// True if `left` has fewer requests than `right` for each unit of weight.
    private static func isLessLoaded(_ left: ServerLoad, than right: ServerLoad) -> Bool {
        left.activeCount * right.weight < right.activeCount * left.weight
    }

    /// Weighted rendezvous hashing: each server draws a number from the key and its own identity,
    /// and the highest number wins. A server that goes only moves its own keys, and a change of its
    /// weight moves keys only to it or away from it (`docs/decisions/0012`).
    private func highest(
        _ servers: [ServerLoad], key: UInt64, where mayTake: (Int) -> Bool
    ) -> Int? {
        var chosen: Int?
        var best = 0.0
        for index in servers.indices where mayTake(index) {
            let draw = KeyHash.fraction(KeyHash.mixed(key ^ servers[index].identity))
            let score = Double(servers[index].weight) / -KeyHash.naturalLogarithm(draw)
            if chosen == nil || score > best {
                chosen = index
                best = score
            }
        }
        return chosen
    }
}
