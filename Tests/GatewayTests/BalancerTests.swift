import Settings
import Testing

@testable import Gateway

@Suite("Balancer")
struct BalancerTests {}

extension BalancerTests {
    private func loads(_ weights: [Int]) -> [ServerLoad] {
        weights.enumerated().map { index, weight in
            ServerLoad(
                weight: weight, identity: KeyHash.hash("10.0.0.\(index):80".utf8))
        }
    }

    @Test("round robin follows the weights, and spreads the heavy ones")
    func smooth() {
        var balancer = Balancer(.roundRobin)
        let servers = loads([5, 1, 1])
        let turns = (0..<14).compactMap { _ in balancer.next(servers, key: 0) }
        #expect(turns == [0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 0, 2, 0, 0])
    }

    @Test("a changed weight counts from the next turn on")
    func weightChange() {
        var balancer = Balancer(.roundRobin)
        var servers = loads([1, 1])
        for _ in 0..<10 { _ = balancer.next(servers, key: 0) }
        servers[1].weight = 3
        var counts = [0, 0]
        for _ in 0..<400 { counts[balancer.next(servers, key: 0) ?? 0] += 1 }
        #expect(counts == [100, 300])
        servers.append(ServerLoad(weight: 4))
        counts = [0, 0, 0]
        for _ in 0..<800 { counts[balancer.next(servers, key: 0) ?? 0] += 1 }
        #expect(counts == [100, 300, 400])
    }

    @Test("least connections compares requests in progress by weight, equals take turns")
    func leastConnections() {
        var balancer = Balancer(.leastConnections)
        var servers = loads([1, 2, 1])
        servers[0].activeCount = 1
        servers[1].activeCount = 1
        servers[2].activeCount = 2
        #expect(balancer.next(servers, key: 0) == 1)
        servers[1].activeCount = 2
        var counts = [0, 0, 0]
        for _ in 0..<30 { counts[balancer.next(servers, key: 0) ?? 2] += 1 }
        #expect(counts == [10, 20, 0])
    }

    @Test("backups are used only where nothing else is usable")
    func backups() {
        for policy in BalancePolicy.allCases {
            var balancer = Balancer(policy)
            var servers = loads([1, 1, 1])
            servers[2].isBackup = true
            let all = Set((0..<100).compactMap { balancer.next(servers, key: UInt64($0)) })
            #expect(all == [0, 1])
            servers[0].isUsable = false
            #expect(balancer.next(servers, key: 1, tried: [1]) == 2)
            servers[1].isUsable = false
            #expect(balancer.next(servers, key: 1) == 2)
            #expect(balancer.next(servers, key: 1, tried: [2]) == nil)
            servers[2].isUsable = false
            #expect(balancer.next(servers, key: 1) == nil)
        }
    }

    @Test("a hashed key stays with its server, in shares of the weights")
    func hashShares() {
        var balancer = Balancer(.hashKey)
        let servers = loads([1, 2, 1])
        var counts = [0, 0, 0]
        for key in 0..<8_000 as Range<UInt64> {
            let hash = KeyHash.mixed(key)
            let index = balancer.next(servers, key: hash) ?? 0
            #expect(balancer.next(servers, key: hash) == index)
            counts[index] += 1
        }
        // Four standard deviations of a fair draw are 160 and 180.
        #expect(abs(counts[0] - 2_000) < 160)
        #expect(abs(counts[1] - 4_000) < 180)
        #expect(abs(counts[2] - 2_000) < 160)
    }

    @Test("a server that goes, comes or changes its weight moves no other server's keys")
    func minimalDisruption() {
        var balancer = Balancer(.hashKey)
        let servers = loads([3, 1, 2, 1])
        var without = servers
        without[2].isUsable = false
        var lighter = servers
        lighter[0].weight = 1
        let grown = servers + [ServerLoad(weight: 2, identity: KeyHash.hash("new".utf8))]
        for key in 0..<4_000 as Range<UInt64> {
            let hash = KeyHash.mixed(key)
            let home = balancer.next(servers, key: hash)
            if home != 2 { #expect(balancer.next(without, key: hash) == home) }
            if home != 0 { #expect(balancer.next(lighter, key: hash) == home) }
            let next = balancer.next(grown, key: hash)
            #expect(next == home || next == 4)
        }
    }

    @Test("the logarithm is one")
    func logarithm() {
        #expect(abs(KeyHash.naturalLogarithm(1)) < 1e-12)
        #expect(abs(KeyHash.naturalLogarithm(0.5) + 0.693_147_180_559_945_3) < 1e-9)
        #expect(abs(KeyHash.naturalLogarithm(1e-9) + 20.723_265_836_946_41) < 1e-8)
        #expect(abs(KeyHash.naturalLogarithm(0.999) + 0.001_000_500_333_583_5) < 1e-9)
        #expect(KeyHash.fraction(0) > 0)
        #expect(KeyHash.fraction(.max) < 1)
    }
}

@Suite("Retry budget")
struct RetryBudgetTests {}

extension RetryBudgetTests {
    @Test("retries are a share of requests, beside a reserve that refills")
    func share() {
        var budget = RetryBudget(percent: 20)
        var now: UInt64 = 1_000_000_000
        var count = 0
        while budget.withdraw(now: now) { count += 1 }
        #expect(count == RetryBudget.reserveMax)
        for _ in 0..<50 { budget.deposit() }
        count = 0
        while budget.withdraw(now: now) { count += 1 }
        #expect(count == 10)
        now += 3 * RetryBudget.nanosecondsPerReserved
        count = 0
        while budget.withdraw(now: now) { count += 1 }
        #expect(count == 3)
        now += 3600 * 1_000_000_000
        count = 0
        while budget.withdraw(now: now) { count += 1 }
        #expect(count == RetryBudget.reserveMax)
    }

    @Test("what was saved up has a bound, and none is none")
    func bounds() {
        var budget = RetryBudget(percent: 100)
        for _ in 0..<100_000 { budget.deposit() }
        var count = 0
        while budget.withdraw(now: 1) { count += 1 }
        #expect(count == 100 + RetryBudget.reserveMax)
        var none = RetryBudget(percent: 0)
        none.deposit()
        #expect(none.withdraw(now: 1) == false)
    }
}
