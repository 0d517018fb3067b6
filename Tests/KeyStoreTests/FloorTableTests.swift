import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Testing

@Suite("The table of floors")
final class FloorTableTests {
    private let directory: TemporaryDirectory
    private let registry: SQLiteRegistry
    private let news = Locked<[FloorTable.News]>([])
    private var generator = SeededGenerator(seed: 1)

    init() throws {
        directory = try TemporaryDirectory()
        registry = try SQLiteRegistry(path: directory.registryPath)
    }

    deinit { registry.close() }
}

extension FloorTableTests {
    private func table() -> FloorTable {
        let table = FloorTable(lifeMilliseconds: 1000)
        table.onNews { [news] heard in news.withLock { $0.append(heard) } }
        return table
    }

    private func enrolled() throws -> KeyID { try registry.enrolAny(&generator).keyID }

    /// Raises what is due, and waits until the registry has answered.
    private func raise(_ table: FloorTable, in registry: any Registry, now: Int64) {
        table.raise(in: registry, now: now)
        let reply = Reply<Result<Void, StoreError>>()
        registry.raiseFloors([]) { reply.give($0) }
        _ = reply.wait()
    }

    @Test("an accepted counter is a floor after a life, and stays until the registry has it")
    func life() throws {
        let table = table()
        let key = try enrolled()
        table.note(key, 7, now: 0)
        table.note(key, 5, now: 1)
        #expect(table.floor(of: key, known: 2, asOf: 0, now: 999)?.settled == 2)
        raise(table, in: registry, now: 999)
        #expect(try registry.find(key)?.counterFloor == 0)
        #expect(table.floor(of: key, known: 2, asOf: 0, now: 1000)?.settled == 7)
        #expect(table.floor(of: key, known: 9, asOf: 0, now: 1000)?.settled == 9)
        #expect(table.keyCount == 1)
        raise(table, in: registry, now: 1000)
        #expect(try registry.find(key)?.counterFloor == 7)
        #expect(table.keyCount == 0)
        #expect(news.withLock { $0.map(\.number) } == [1])
    }

    @Test("whoever holds a record older than what has left looks the key up anew")
    func outdated() throws {
        let table = table()
        let key = try enrolled()
        let number = table.newsNumber
        table.note(key, 7, now: 0)
        raise(table, in: registry, now: 1000)
        #expect(table.floor(of: key, known: 0, asOf: number, now: 1000) == nil)
        let fresh = table.newsNumber
        #expect(table.floor(of: key, known: 7, asOf: fresh, now: 1000)?.settled == 7)
        // A worker that has heard the news, and has raised what it holds.
        #expect(table.floor(of: key, known: 7, asOf: 1, now: 1000)?.settled == 7)
    }

    @Test("a device that never pauses has its floor raised as well")
    func busy() throws {
        let table = table()
        let key = try enrolled()
        for counter in 1...40 {
            let now = Int64(counter) * 100
            table.note(key, UInt32(counter), now: now)
            raise(table, in: registry, now: now)
            let floor = try #require(try registry.find(key)?.counterFloor)
            // Nothing that was accepted within the last life, all that is older than two.
            #expect(Int64(floor) * 100 <= now - 1000 || floor == 0)
            #expect(Int64(floor) * 100 > now - 2200)
        }
        #expect(table.keyCount == 1)
    }

    @Test("a store that lost its memory settles everything at once")
    func loss() throws {
        let table = table()
        let key = try enrolled()
        table.note(key, 7, now: 0)
        table.settleAll(now: 0)
        let number = table.newsNumber
        #expect(table.floor(of: key, known: 0, asOf: number, now: 0)?.settled == 7)
        table.note(key, 8, now: 1)
        #expect(table.floor(of: key, known: 0, asOf: number, now: 1)?.settled == 7)
        raise(table, in: registry, now: 1)
        #expect(try registry.find(key)?.counterFloor == 7)
        #expect(table.keyCount == 1)
    }

    @Test("what no counter store has heard of is a floor at once, where there is no window")
    func unheard() throws {
        let table = table()
        let key = try enrolled()
        table.note(key, 7, as: .unheard, now: 0)
        table.note(key, 9, now: 1)
        table.note(key, 5, as: .unheard, now: 2)
        #expect(
            table.floor(of: key, known: 2, asOf: 0, now: 2) == CounterFloor(settled: 2, strict: 7))
        #expect(
            table.floor(of: key, known: 8, asOf: 0, now: 2) == CounterFloor(settled: 8, strict: 8))
        #expect(table.floor(of: key, known: 2, asOf: 0, now: 1000)?.settled == 7)
    }

    @Test("a loss makes every record older than it out of date, whoever holds it")
    func lossOutdates() throws {
        let table = table()
        let before = table.newsNumber
        table.settleAll(now: 0)
        // Nobody here has seen this key; another gateway may have accepted counters of it.
        let key = generator.keyID()
        #expect(table.floor(of: key, known: 3, asOf: before, now: 0) == nil)
        #expect(table.floor(of: key, known: 9, asOf: table.newsNumber, now: 0)?.settled == 9)
        // The gap tells caches that what they hold is too old.
        let heard = try #require(news.withLock { $0.first })
        #expect(heard.floors.isEmpty)
        #expect(heard.number == table.newsNumber && heard.number > before + 1)
    }

    @Test("a loss makes records out of date once more, when others have told what they knew")
    func lossOutdatesAgain() throws {
        let table = table()
        let key = generator.keyID()
        table.settleAll(now: 100)
        for time in [3100, 20_100] as [Int64] {
            let number = table.newsNumber
            table.raise(in: try HeldRegistry(), now: time - 1)
            #expect(table.newsNumber == number)
            table.raise(in: try HeldRegistry(), now: time)
            #expect(table.newsNumber > number + 1)
            #expect(table.floor(of: key, known: 3, asOf: number, now: time) == nil)
        }
        let last = table.newsNumber
        table.raise(in: try HeldRegistry(), now: 1_000_000)
        #expect(table.newsNumber == last)
    }

    @Test("so many floors at once leave the registry room for others, and all get there")
    func bounded() throws {
        let table = table()
        for _ in 0..<20_000 { table.note(generator.keyID(), 1, now: 0) }
        let slow = try HeldRegistry()
        for _ in 0..<3 { table.raise(in: slow, now: 1000) }
        #expect(slow.takeFloors() == 32 * 256)
        #expect(table.keyCount == 20_000 - 32 * 256)
        var count = 32 * 256
        try repeatWhile(table.keyCount > 0) {
            table.raise(in: slow, now: 1000)
            count += slow.takeFloors()
        }
        #expect(count == 20_000)
        for _ in 0..<20_000 { table.note(generator.keyID(), 1, now: 1000) }
        table.raise(in: slow, isWhole: true, now: 2000)
        #expect(slow.takeFloors() == 20_000)
    }

    @Test("what the registry does not take stays, and is offered again")
    func failure() throws {
        let table = table()
        let key = try enrolled()
        table.note(key, 7, now: 0)
        let other = try TemporaryDirectory()
        let closed = try SQLiteRegistry(path: other.registryPath)
        closed.close()
        raise(table, in: closed, now: 1000)
        #expect(table.keyCount == 1)
        #expect(table.newsNumber == 0)
        raise(table, in: registry, now: 1001)
        #expect(table.keyCount == 0)
        #expect(try registry.find(key)?.counterFloor == 7)
    }
}
