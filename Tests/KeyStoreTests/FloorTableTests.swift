import AppAttest
import Bytes
import EventLoop
import Foundation
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

    private func table(_ file: FloorFile? = nil) -> FloorTable {
        let table = FloorTable(lifeMilliseconds: 1000, file: file)
        table.onNews { [news] heard in news.withLock { $0.append(heard) } }
        return table
    }

    private func enrolled() throws -> KeyID {
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        return record.keyID
    }

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
        table.settleAll()
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
        table.settleAll()
        // Nobody here has seen this key; another gateway may have accepted counters of it.
        let key = generator.keyID()
        #expect(table.floor(of: key, known: 3, asOf: before, now: 0) == nil)
        #expect(table.floor(of: key, known: 9, asOf: table.newsNumber, now: 0)?.settled == 9)
        // The gap tells caches that what they hold is too old.
        let heard = try #require(news.withLock { $0.first })
        #expect(heard.floors.isEmpty)
        #expect(heard.number == table.newsNumber && heard.number > before + 1)
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
        while table.keyCount > 0 {
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

    @Test("the floors of a process that was killed are there at the next start")
    func file() throws {
        let path = directory.path + "/floors"
        #expect(try FloorFile.read(path).isEmpty)
        let file = try FloorFile(path: path)
        let table = table(file)
        try file.publish()
        var expected: [KeyID: UInt32] = [:]
        for number in 1...3000 {
            let key = generator.keyID()
            expected[key] = UInt32(number)
            table.note(key, UInt32(number / 2), now: 0)
            table.note(key, UInt32(number), now: 0)
        }
        // Nothing is closed or written: what is read is what a kill leaves.
        func read() throws -> [KeyID: UInt32] {
            Dictionary(
                try FloorFile.read(path).map { ($0.keyID, $0.counter) }, uniquingKeysWith: max)
        }
        #expect(try read() == expected)
        // The registry has all of them: their places are for others.
        raise(table, in: registry, now: 1000)
        raise(table, in: registry, now: 1000)
        #expect(table.keyCount == 0)
        #expect(try read().isEmpty)
        let key = generator.keyID()
        table.note(key, .max, now: 1000)
        #expect(try read() == [key: .max])
    }

    @Test("a start that is killed, and a file that is cut or torn, lose no other floor")
    func torn() throws {
        let path = directory.path + "/floors"
        let keys = (0..<10).map { _ in generator.keyID() }
        do {
            let file = try FloorFile(path: path)
            try file.publish()
            let table = table(file)
            for key in keys { table.note(key, 9, now: 0) }
        }
        // Killed before it took over.
        _ = try FloorFile(path: path)
        #expect(try FloorFile.read(path).count == 10)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // Each place but the first begins with a key, then the counter.
        bytes[64 + 3] ^= 1
        bytes[128 + 36] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(try FloorFile.read(path).count == 8)
        try bytes.prefix(64 * 5 + 20).write(to: URL(fileURLWithPath: path))
        #expect(try FloorFile.read(path).count == 2)
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(try FloorFile.read(path).isEmpty)
    }

    @Test("what is not a file of floors of this version is told from an empty one")
    func foreign() throws {
        let path = directory.path + "/floors"
        let file = try FloorFile(path: path)
        try file.publish()
        var other = try Data(contentsOf: URL(fileURLWithPath: path))
        other[0] ^= 1
        for bytes in [Data("not floors".utf8), Data(repeating: 0x78, count: 640), other] {
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(throws: FloorFileError.foreign(path: path)) { try FloorFile.read(path) }
        }
        let isDirectory = FloorFileError.unreadable(IOError(directory.path, .isDirectory))
        #expect(throws: isDirectory) { try FloorFile.read(directory.path) }
    }

    @Test("what finds no room in the file is kept in memory, and is stored when there is room")
    func full() throws {
        let path = directory.path + "/floors"
        let file = try FloorFile(path: path, placeCountMax: 5)
        let table = table(file)
        try file.publish()
        let keys = try (0..<6).map { _ in try enrolled() }
        for key in keys { table.note(key, 7, now: 0) }
        #expect(try FloorFile.read(path).count == 4)
        #expect(table.makeRoom() != nil)
        let held = Set(try FloorFile.read(path).map(\.keyID))
        let others = keys.filter { !held.contains($0) }
        for key in others {
            #expect(table.floor(of: key, known: 0, asOf: 0, now: 1000)?.settled == 7)
            table.note(key, 8, now: 1000)
        }
        // The others leave, and these get their places.
        raise(table, in: registry, now: 1000)
        raise(table, in: registry, now: 1000)
        #expect(Set(try FloorFile.read(path).map(\.keyID)) == Set(others))
        #expect(try FloorFile.read(path).allSatisfy { $0.counter == 8 })
    }

    @Test("a file that has not taken everything does not take the place of one that has")
    func partial() throws {
        let path = directory.path + "/floors"
        let whole = try FloorFile(path: path)
        let old = table(whole)
        try whole.publish()
        for _ in 0..<6 { old.note(generator.keyID(), 7, now: 0) }
        let file = try FloorFile(path: path, placeCountMax: 5)
        let next = table(file)
        for (key, counter) in try FloorFile.read(path) { next.note(key, counter, now: 0) }
        #expect(throws: IOError.self) { try file.publish() }
        #expect(try FloorFile.read(path).count == 6)
    }

    @Test("what was accepted is brought to the disk when there is anything")
    func sync() throws {
        let table = table(try FloorFile(path: directory.path + "/floors"))
        #expect(!table.takeUnsynced())
        table.note(generator.keyID(), 7, now: 0)
        #expect(table.takeUnsynced())
        #expect(table.sync() == nil)
        #expect(!table.takeUnsynced())
        #expect(table.makeRoom() == nil)
    }
}
