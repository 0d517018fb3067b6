import AppAttest
import Bytes
import EventLoop
import Foundation
import KeyStore
import SQLiteKeyStore
import Testing

@Suite("Files of floors")
final class FloorFileTests {
    private let directory: TemporaryDirectory
    private let base: String
    private var generator = SeededGenerator(seed: 2)

    init() throws {
        directory = try TemporaryDirectory()
        base = directory.path + "/registry.db.floors"
    }

    private var paths: [String] {
        directory.names.filter { $0.hasPrefix("registry.db.floors") }.sorted().map {
            directory.path + "/" + $0
        }
    }

    /// A process that starts now.
    private func start(placeCountMax: Int = 1 << 16) -> FloorTable {
        let table = FloorTable(
            lifeMilliseconds: 1000, beside: base, placeCountMax: placeCountMax)
        table.takeOver(now: 0)
        return table
    }

    /// As the timer of a process does, until it has these. A program that another test starts holds
    /// each lock of this process for a moment.
    private func takeOver(_ keys: [KeyID], in table: FloorTable) {
        while keys.contains(where: { table.highest(of: $0) == nil }) {
            table.takeOver(now: 0)
            sched_yield()
        }
    }

    /// What all files hold, of processes that live and of others.
    private func held() -> [KeyID: UInt32] {
        let inheritance = FloorInheritance.reading(beside: base)
        #expect(inheritance.losses.isEmpty)
        return Dictionary(
            inheritance.floors.map { ($0.keyID, $0.counter) }, uniquingKeysWith: max)
    }

    private func raise(_ table: FloorTable, in registry: any Registry, now: Int64) {
        table.raise(in: registry, isWhole: true, now: now)
        let reply = Reply<Result<Void, StoreError>>()
        registry.raiseFloors([]) { reply.give($0) }
        _ = reply.wait()
    }

    @Test("hold what a process accepted, whatever ends it, until the registry has it")
    func file() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let table = start()
        var expected: [KeyID: UInt32] = [:]
        for number in 1...3000 {
            let key = generator.keyID()
            expected[key] = UInt32(number)
            table.note(key, UInt32(number / 2), now: 0)
            table.note(key, UInt32(number), now: 0)
        }
        // Nothing is closed or written: what is read is what a kill leaves.
        #expect(held() == expected)
        // The registry has all of them: their places are for others.
        raise(table, in: registry, now: 1000)
        #expect(table.keyCount == 0)
        #expect(held().isEmpty)
        let key = generator.keyID()
        table.note(key, .max, now: 1000)
        #expect(held() == [key: .max])
        raise(table, in: registry, now: 2000)
        table.close()
        #expect(paths.isEmpty)
        registry.close()
    }

    @Test("of a process that has ended are the next one's, and those of one that lives are not")
    func takenOver() throws {
        let ended = generator.keyID()
        let living = generator.keyID()
        do {
            let table = start()
            table.note(ended, 9, now: 0)
        }
        let neighbour = start()
        takeOver([ended], in: neighbour)
        #expect(neighbour.highest(of: ended) == 9)
        #expect(neighbour.floor(of: ended, known: 0, asOf: 0, now: 0)?.settled == 9)
        neighbour.note(living, 5, now: 0)
        let next = start()
        #expect(next.highest(of: ended) == nil)
        #expect(next.highest(of: living) == nil)
        #expect(held() == [ended: 9, living: 5])
        #expect(paths.count == 2)
        // A file that is empty when it is closed leaves nothing behind.
        next.close()
        #expect(paths.count == 1)
        neighbour.close()
        #expect(paths.count == 1)
    }

    @Test("are several where several processes were killed, and the highest counter counts")
    func several() throws {
        let key = generator.keyID()
        do {
            let first = start()
            let second = start()
            first.note(key, 7, now: 0)
            second.note(key, 9, now: 0)
            #expect(paths.count == 2)
        }
        let next = start()
        while paths.count > 1 {
            next.takeOver(now: 0)
            sched_yield()
        }
        #expect(next.highest(of: key) == 9)
        #expect(held() == [key: 9])
    }

    @Test("of a process that is killed while others run are the others'")
    func neighbour() throws {
        let key = generator.keyID()
        let table = start()
        do {
            let neighbour = start()
            neighbour.note(key, 9, now: 0)
            table.takeOver(now: 0)
            #expect(table.highest(of: key) == nil)
        }
        takeOver([key], in: table)
        #expect(table.floor(of: key, known: 0, asOf: 0, now: 0)?.settled == 9)
        #expect(paths.count == 1)
    }

    @Test("that a killed start left without a name go away")
    func killedStart() throws {
        let name = base + ".new-00000000000000aB"
        try Data(repeating: 0, count: 100).write(to: URL(fileURLWithPath: name))
        let table = start()
        #expect(!File.exists(name))
        #expect(paths.count == 1)
        #expect(table.takeLosses().isEmpty)
    }

    @Test("lose what is torn or cut off, and no other floor")
    func torn() throws {
        do {
            let table = start()
            for _ in 0..<10 { table.note(generator.keyID(), 9, now: 0) }
        }
        let url = URL(fileURLWithPath: try #require(paths.first))
        var bytes = try Data(contentsOf: url)
        // Each place but the first begins with a key, then the counter.
        bytes[64 + 3] ^= 1
        bytes[128 + 36] ^= 1
        try bytes.write(to: url)
        #expect(held().count == 8)
        try bytes.prefix(64 * 5 + 20).write(to: url)
        #expect(held().count == 2)
        try Data().write(to: url)
        #expect(held().isEmpty)
    }

    @Test("that are something else are told from empty ones, and kept under another name")
    func foreign() throws {
        do { _ = start() }
        let path = try #require(paths.first)
        var other = try Data(contentsOf: URL(fileURLWithPath: path))
        other[0] ^= 1
        for bytes in [Data("not floors".utf8), Data(repeating: 0x78, count: 640), other] {
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(FloorInheritance.reading(beside: base).losses == [.foreign(path: path)])
            let table = start()
            table.takeOver(now: 0)
            #expect(table.takeLosses() == [.foreign(path: path)])
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".unread")) == bytes)
        }
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        let isDirectory = FloorFileError.unreadable(IOError(path, .isDirectory))
        #expect(FloorInheritance.reading(beside: base).losses == [isDirectory])
        try FileManager.default.removeItem(atPath: path)
        // Nobody writes to the pipe: whoever waited for it would wait for ever.
        #expect(mkfifo(path, 0o600) == 0)
        let isPipe = FloorFileError.unreadable(IOError(path, .notRegular))
        #expect(FloorInheritance.reading(beside: base).losses == [isPipe])
        #expect(start().takeLosses() == [isPipe])
    }

    @Test("that are full leave the rest in memory, and store it when there is room")
    func full() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let table = start(placeCountMax: 5)
        var keys: [KeyID] = []
        for _ in 0..<6 {
            let record = generator.record()
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
            keys.append(record.keyID)
        }
        for key in keys { table.note(key, 7, now: 0) }
        #expect(held().count == 4)
        #expect(table.makeRoom() != nil)
        let others = keys.filter { held()[$0] == nil }
        for key in others {
            #expect(table.floor(of: key, known: 0, asOf: 0, now: 1000)?.settled == 7)
            table.note(key, 8, now: 1000)
        }
        // The others leave, and these get their places.
        raise(table, in: registry, now: 1000)
        raise(table, in: registry, now: 1000)
        #expect(held() == [others[0]: 8, others[1]: 8])
        registry.close()
    }

    @Test("do not go where a new one has not taken everything")
    func partial() throws {
        do {
            let old = start()
            for _ in 0..<6 { old.note(generator.keyID(), 7, now: 0) }
        }
        let before = try #require(paths.first)
        let next = start(placeCountMax: 5)
        while next.keyCount < 6 {
            next.takeOver(now: 0)
            sched_yield()
        }
        #expect(next.makeRoom() != nil)
        // Locked, so that nobody reads it again as long as this process lives.
        next.takeOver(now: 0)
        #expect(File.exists(before))
        #expect(held().count == 6)
    }
}
