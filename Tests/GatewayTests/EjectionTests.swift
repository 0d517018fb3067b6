import EventLoop
import Settings
import Testing

@testable import Gateway

@Suite("Ejection")
struct EjectionTests {
    private let second: UInt64 = 1_000_000_000
}

extension EjectionTests {
    private func ejection(
        servers: Int = 4, _ change: (inout EjectionSettings) -> Void = { _ in }
    ) -> Ejection {
        var settings = EjectionSettings()
        settings.failureCount = 3
        settings.window = .seconds(30)
        settings.time = .seconds(10)
        settings.timeMax = .seconds(60)
        change(&settings)
        return Ejection(settings, serverCount: servers)
    }

    @Test("so many failures in a row eject, a success in between does not")
    func row() {
        var ejection = ejection()
        #expect(ejection.failed(1, now: second) == nil)
        #expect(ejection.failed(1, now: second) == nil)
        #expect(ejection.succeeded(1, now: second) == nil)
        #expect(ejection.isClean(1))
        for _ in 0..<2 { #expect(ejection.failed(1, now: second) == nil) }
        #expect(ejection.failed(1, now: second) == .ejected(nanoseconds: 10 * second))
        #expect(ejection.ejectedUntil(1) == 11 * second)
        // Those under way say nothing new.
        #expect(ejection.failed(1, now: 2 * second) == nil)
        #expect(ejection.succeeded(1, now: 2 * second) == nil)
        #expect(ejection.ejectedUntil(1) == 11 * second)
        #expect(ejection.ejectedUntil(0) == 0)
    }

    @Test("failures far apart do not add up")
    func window() {
        var ejection = ejection()
        for turn in 0..<20 as Range<UInt64> {
            #expect(ejection.failed(0, now: second + turn * 31 * second) == nil)
        }
    }

    @Test("one request tries, and each further ejection lasts twice as long up to the most")
    func backOff() {
        var ejection = ejection()
        var now = second
        for _ in 0..<3 { _ = ejection.failed(0, now: now) }
        for seconds in [20, 40, 60, 60] as [UInt64] {
            #expect(ejection.beginTrial(0, now: ejection.ejectedUntil(0) - 1) == false)
            now = ejection.ejectedUntil(0)
            #expect(ejection.beginTrial(0, now: now) == true)
            #expect(ejection.beginTrial(0, now: now) == false)
            #expect(ejection.failed(0, now: now) == .ejected(nanoseconds: seconds * second))
        }
        now = ejection.ejectedUntil(0)
        #expect(ejection.beginTrial(0, now: now) == true)
        #expect(ejection.succeeded(0, now: now) == .returned)
        #expect(ejection.isClean(0))
        for _ in 0..<2 { #expect(ejection.failed(0, now: now) == nil) }
        #expect(ejection.failed(0, now: now) == .ejected(nanoseconds: 10 * second))
    }

    @Test("a trial without an outcome is followed by another")
    func lostTrial() {
        var ejection = ejection()
        for _ in 0..<3 { _ = ejection.failed(0, now: second) }
        #expect(ejection.beginTrial(0, now: 11 * second) == true)
        #expect(ejection.beginTrial(0, now: 20 * second) == false)
        #expect(ejection.beginTrial(0, now: 21 * second) == true)
    }

    @Test(
        "never more than the share is out, never all, and one at least may be",
        arguments: [(4, 50, 2), (4, 100, 3), (3, 10, 1), (2, 50, 1), (1, 100, 0), (4, 0, 0)])
    func share(servers: Int, percent: Int, outCount: Int) {
        var ejection = ejection(servers: servers) { $0.sharePercent = percent }
        for index in 0..<servers {
            for _ in 0..<5 { _ = ejection.failed(index, now: second) }
        }
        #expect((0..<servers).count { ejection.ejectedUntil($0) > 0 } == outCount)
    }

    @Test("what is known of a server follows it to another index")
    func carried() {
        var ejection = ejection()
        for _ in 0..<3 { _ = ejection.failed(2, now: second) }
        let carried = ejection.carried(to: [nil, 2, 0])
        #expect(carried.ejectedUntil(0) == 0)
        #expect(carried.ejectedUntil(1) == 11 * second)
        #expect(carried.ejectedUntil(2) == 0)
    }
}

@Suite("Slow start")
struct SlowStartTests {}

extension SlowStartTests {
    @Test("the weight of a server that came back grows to the whole")
    func weight() throws {
        var entry = UpstreamServer(.tcp(host: "10.0.0.1", port: 80), weight: 2)
        let address = try #require(SocketAddress.numeric(host: "10.0.0.1", port: 80))
        let server = ServerState(entry, address: address)
        #expect(server.weight(now: 1, slowStart: 100) == 512)
        server.returned(now: 1000)
        let weights = [900, 1000, 1001, 1025, 1050, 1099, 1100, 5000].map {
            server.weight(now: $0, slowStart: 100)
        }
        #expect(weights == [1, 1, 5, 128, 256, 506, 512, 512])
        entry.weight = 1
        #expect(ServerState(entry, address: address).weight(now: 1, slowStart: 100) == 256)
    }
}

@Suite("Health tally")
struct HealthTallyTests {}

extension HealthTallyTests {
    @Test("so many in a row change the verdict, fewer do not")
    func verdict() {
        var settings = HealthCheckSettings()
        settings.riseCount = 2
        settings.fallCount = 3
        var tally = HealthTally(settings)
        for isPassed in [false, false, true, false, false] {
            #expect(tally.add(isPassed: isPassed) == false)
        }
        #expect(tally.add(isPassed: false) == true)
        #expect(!tally.isUp)
        for isPassed in [false, true, false, true] {
            #expect(tally.add(isPassed: isPassed) == false)
        }
        #expect(tally.add(isPassed: true) == true)
        #expect(tally.isUp)
    }
}
