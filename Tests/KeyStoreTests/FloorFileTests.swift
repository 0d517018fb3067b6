import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Testing

@Suite("Files of floors")
final class FloorFileTests {
    private let directory: TemporaryDirectory
    private let memory: ScratchDirectory
    private let base: String
    private let location: FloorLocation
    private var generator = SeededGenerator(seed: 2)

    init() throws {
        directory = try TemporaryDirectory()
        memory = try ScratchDirectory(inMemory: true)
        base = directory.path + "/registry.db.floors"
        location = FloorLocation(diskBase: base, memoryBase: memory.path(of: "floors"))
    }
}

extension FloorFileTests {
    /// The files on the disk.
    private var paths: [String] { Self.paths(in: directory.path) }
    private var memoryPaths: [String] { Self.paths(in: memory.path) }

    private static func paths(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.contains("floors") }.sorted().map { directory + "/" + $0 }
    }

    /// A process that starts now.
    private func start(
        at place: FloorLocation? = nil, placeCountMax: Int = 1 << 16
    ) -> FloorTable {
        let table = FloorTable(
            lifeMilliseconds: 1000, at: place ?? location, placeCountMax: placeCountMax)
        table.takeOver(now: 0)
        table.bringToDisk(now: 0)
        return table
    }

    /// A process that keeps nothing in memory that outlives it.
    private func startOnDisk() -> FloorTable {
        start(at: FloorLocation(diskBase: base, memoryBase: nil))
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
    private func held(at place: FloorLocation? = nil) -> [KeyID: UInt32] {
        let inheritance = FloorInheritance.reading(place ?? location)
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
        table.close(now: 2000)
        #expect(paths.isEmpty && memoryPaths.isEmpty)
        registry.close()
    }

    @Test("on the disk alone hold what a process accepted, up to its last visit there")
    func disk() throws {
        let place = FloorLocation(diskBase: base, memoryBase: nil)
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let table = startOnDisk()
        var expected: [KeyID: UInt32] = [:]
        for number in 1...3000 {
            let key = generator.keyID()
            expected[key] = UInt32(number)
            table.note(key, UInt32(number), now: 5)
        }
        #expect(held(at: place).isEmpty)
        #expect(table.lag(now: 105) == 100)
        table.bringToDisk(now: 105)
        #expect(held(at: place) == expected)
        // It is in the file, and not on the disk: there is a sync a second.
        #expect(table.lag(now: 205) == 200)
        table.bringToDisk(now: 1000)
        #expect(table.lag(now: 1000) == 0)
        let some = try #require(expected.first?.key)
        table.note(some, 9000, now: 1000)
        expected[some] = 9000
        #expect(held(at: place) != expected)
        table.bringToDisk(now: 1001)
        #expect(held(at: place) == expected)
        // Places of keys that have left are for others, once the disk knows.
        raise(table, in: registry, now: 3000)
        #expect(table.keyCount == 0)
        let key = generator.keyID()
        table.note(key, 1, now: 3000)
        table.bringToDisk(now: 3000)
        #expect(held(at: place) == [key: 1])
        let byteCount = try Data(contentsOf: URL(fileURLWithPath: paths[0])).count
        for _ in 0..<2999 { table.note(generator.keyID(), 1, now: 3000) }
        table.bringToDisk(now: 3001)
        #expect(try Data(contentsOf: URL(fileURLWithPath: paths[0])).count <= byteCount + 64)
        #expect(held(at: place).count == 3000)
        registry.close()
    }

    @Test("are made again, whole, if they are removed or replaced")
    func removed() throws {
        let place = FloorLocation(diskBase: base, memoryBase: nil)
        let table = startOnDisk()
        let first = generator.keyID()
        table.note(first, 7, now: 0)
        table.bringToDisk(now: 0)
        let path = try #require(paths.first)
        try FileManager.default.removeItem(atPath: path)
        table.bringToDisk(now: 100)
        #expect(held(at: place) == [first: 7])
        try Data("another".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        let second = generator.keyID()
        table.note(second, 8, now: 150)
        table.bringToDisk(now: 200)
        #expect(paths == [path])
        #expect(held(at: place) == [first: 7, second: 8])
        #expect(table.lag(now: 200) == 0)
        // The new file is locked like the one before.
        let neighbour = startOnDisk()
        #expect(neighbour.keyCount == 0)
    }

    @Test("that cannot be written are behind, say why, and are whole once they can")
    func behind() throws {
        let place = FloorLocation(diskBase: base, memoryBase: nil)
        let table = startOnDisk()
        let away = directory.path + "-away"
        try FileManager.default.moveItem(atPath: directory.path, toPath: away)
        defer { try? FileManager.default.removeItem(atPath: away) }
        let key = generator.keyID()
        table.note(key, 7, now: 1000)
        table.bringToDisk(now: 1100)
        #expect(table.diskFailure?.reason == .notFound)
        #expect(table.lag(now: 4000) == 3000)
        table.note(key, 8, now: 4000)
        try FileManager.default.moveItem(atPath: away, toPath: directory.path)
        // Not at once: a disk that fails is not asked ten times a second.
        table.bringToDisk(now: 2099)
        #expect(table.diskFailure != nil)
        table.bringToDisk(now: 2100)
        #expect(table.diskFailure == nil)
        #expect(table.lag(now: 9000) == 0)
        #expect(held(at: place) == [key: 8])
    }

    @Test("in memory are refused on a disk, and floors are kept without them")
    func notInMemory() throws {
        let table = start(
            at: FloorLocation(diskBase: base, memoryBase: directory.path + "/memory.floors"))
        guard !File.isInMemory(directory.path) else { return }
        #expect(table.makeRoom()?.reason == .notInMemory)
        let key = generator.keyID()
        table.note(key, 7, now: 0)
        table.bringToDisk(now: 0)
        #expect(held() == [key: 7])
    }

    @Test(
        "in memory are made again, whole, if they are removed, replaced or cut short",
        arguments: ["remove", "replace", "cut"])
    func lostInMemory(_ harm: String) throws {
        let table = start()
        let key = generator.keyID()
        let other = generator.keyID()
        table.note(key, 7, now: 0)
        #expect(table.makeRoom() == nil)
        let path = try #require(memoryPaths.first)
        switch harm {
        case "remove": #expect(unlink(path) == 0)
        case "replace":
            try Data("other".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        default: #expect(truncate(path, 0) == 0)
        }
        table.note(other, 8, now: 0)
        #expect(table.makeRoom() == nil)
        #expect(memoryPaths == [path])
        // No copy on the disk had them yet.
        let place = FloorLocation(diskBase: base + "-none", memoryBase: memory.path(of: "floors"))
        #expect(held(at: place) == [key: 7, other: 8])
        table.note(key, 9, now: 0)
        #expect(held(at: place) == [key: 9, other: 8])
    }

    @Test("in memory are made as soon as they can be")
    func laterInMemory() throws {
        let path = memory.path(of: "later")
        let place = FloorLocation(diskBase: base, memoryBase: path + "/floors")
        let table = start(at: place)
        let key = generator.keyID()
        table.note(key, 7, now: 0)
        #expect(table.makeRoom()?.reason == .notFound)
        #expect(mkdir(path, 0o700) == 0)
        #expect(table.makeRoom() == nil)
        let alone = FloorLocation(diskBase: base + "-none", memoryBase: path + "/floors")
        #expect(held(at: alone) == [key: 7])
    }

    @Test("have the rights of the registry, as SQLite's log has")
    func rights() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        registry.close()
        let attributes: [FileAttributeKey: Any] = [
            .posixPermissions: 0o660, .groupOwnerAccountID: geteuid() == 0 ? 12 : Int(getegid()),
        ]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: directory.registryPath)
        let rights = try #require(FileRights(ofFileAt: directory.registryPath))
        let table = start(
            at: FloorLocation(
                diskBase: base, memoryBase: memory.path(of: "floors"), rights: rights))
        #expect(FileRights(ofFileAt: try #require(paths.first)) == rights)
        #expect(FileRights(ofFileAt: try #require(memoryPaths.first)) == rights)
        table.close(now: 0)
    }

    @Test(
        "in memory that a stranger made are not believed", .enabled(if: geteuid() == 0, "not root"))
    func stranger() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        registry.close()
        let place = FloorLocation(
            diskBase: base, memoryBase: memory.path(of: "floors"),
            rights: FileRights(ofFileAt: directory.registryPath))
        let key = generator.keyID()
        do { start(at: place).note(key, 7, now: 0) }
        for path in paths { try FileManager.default.removeItem(atPath: path) }
        let path = try #require(memoryPaths.first)
        #expect(chown(path, 4711, 4711) == 0)
        let table = start(at: place)
        table.takeOver(now: 0)
        #expect(table.takeLosses() == [.untrusted(path: path)])
        #expect(table.keyCount == 0)
        #expect(FloorInheritance.reading(place).losses == [.untrusted(path: path)])
        #expect(chown(path, 0, 0) == 0)
        takeOver([key], in: table)
        #expect(table.highest(of: key) == 7)
    }

    @Test("of an ended process are the next one's, and those of a living one are known to it")
    func takenOver() throws {
        let ended = generator.keyID()
        let living = generator.keyID()
        do { start().note(ended, 9, now: 0) }
        let neighbour = start()
        takeOver([ended], in: neighbour)
        #expect(neighbour.highest(of: ended) == 9)
        #expect(neighbour.floor(of: ended, known: 0, asOf: 0, now: 0)?.settled == 9)
        neighbour.note(living, 5, now: 0)
        // It may start before the registry has what the neighbour took over, and what it accepted.
        let next = FloorTable(lifeMilliseconds: 1000, at: location, placeCountMax: 1 << 16)
        next.takeOver(now: 0, isStart: true)
        next.bringToDisk(now: 0)
        #expect(next.floor(of: ended, known: 0, asOf: 0, now: 0)?.settled == 9)
        #expect(next.floor(of: living, known: 0, asOf: 0, now: 0)?.settled == 5)
        // Later what the neighbour accepts is its own.
        let later = generator.keyID()
        neighbour.note(later, 3, now: 0)
        next.takeOver(now: 0)
        #expect(next.highest(of: later) == nil)
        #expect(held() == [ended: 9, living: 5, later: 3])
        #expect(paths.count == 2 && memoryPaths.count == 2)
        // A file of which the registry has all leaves nothing behind.
        let registry = try SQLiteRegistry(path: directory.registryPath)
        raise(next, in: registry, now: 1000)
        next.close(now: 1000)
        #expect(paths.count == 1 && memoryPaths.count == 1)
        neighbour.close(now: 0)
        #expect(paths.count == 1 && memoryPaths.count == 1)
        registry.close()
    }

    @Test("are several where several processes were killed, and the highest counter counts")
    func several() throws {
        let key = generator.keyID()
        do {
            let first = start()
            let second = start()
            first.note(key, 7, now: 0)
            second.note(key, 9, now: 0)
            #expect(paths.count == 2 && memoryPaths.count == 2)
        }
        let next = start()
        try repeatWhile(paths.count > 1 || memoryPaths.count > 1) {
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
        try repeatWhile(paths.count > 1 || memoryPaths.count > 1) {
            table.takeOver(now: 0)
            sched_yield()
        }
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
        let place = FloorLocation(diskBase: base, memoryBase: nil)
        do {
            let table = startOnDisk()
            for _ in 0..<10 { table.note(generator.keyID(), 9, now: 0) }
            table.bringToDisk(now: 0)
        }
        let url = URL(fileURLWithPath: try #require(paths.first))
        var bytes = try Data(contentsOf: url)
        // Each place but the first begins with a key, then the counter.
        bytes[64 + 3] ^= 1
        bytes[128 + 36] ^= 1
        try bytes.write(to: url)
        #expect(held(at: place).count == 8)
        try bytes.prefix(64 * 5 + 20).write(to: url)
        #expect(held(at: place).count == 2)
        try Data().write(to: url)
        #expect(held(at: place).isEmpty)
    }

    @Test("that were read and are something else are told, and kept under another name")
    func foreign() throws {
        let place = FloorLocation(diskBase: base, memoryBase: nil)
        do { _ = startOnDisk() }
        let path = try #require(paths.first)
        var other = try Data(contentsOf: URL(fileURLWithPath: path))
        other[0] ^= 1
        for bytes in [Data("not floors".utf8), Data(repeating: 0x78, count: 640), other] {
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(FloorInheritance.reading(place).losses == [.foreign(path: path)])
            let table = startOnDisk()
            table.takeOver(now: 0)
            #expect(table.takeLosses() == [.foreign(path: path)])
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".unread")) == bytes)
        }
    }

    @Test("that cannot be read are told, once, and stay where they are")
    func unreadable() throws {
        let place = FloorLocation(diskBase: base, memoryBase: nil)
        let path = base + "-00000000000000aB"
        let files = FileManager.default
        try files.createDirectory(atPath: path, withIntermediateDirectories: false)
        let isDirectory = FloorFileError.unreadable(IOError(path, .isDirectory))
        #expect(FloorInheritance.reading(place).losses == [isDirectory])
        let table = startOnDisk()
        table.takeOver(now: 0)
        #expect(table.takeLosses() == [isDirectory])
        #expect(files.fileExists(atPath: path))
        try files.removeItem(atPath: path)
        // Nobody writes to the pipe: whoever waited for it would wait for ever.
        #expect(mkfifo(path, 0o600) == 0)
        let isPipe = FloorFileError.unreadable(IOError(path, .notRegular))
        table.takeOver(now: 0)
        #expect(table.takeLosses() == [isPipe])
        try files.removeItem(atPath: path)
        // A link is not followed: ELOOP.
        try files.createSymbolicLink(atPath: path, withDestinationPath: directory.registryPath)
        table.takeOver(now: 0)
        #expect(table.takeLosses() == [.unreadable(IOError(path, .other(errno: ELOOP)))])
        #expect(try files.destinationOfSymbolicLink(atPath: path) == directory.registryPath)
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
        // The others leave, and these get their places once the disk has forgotten them.
        raise(table, in: registry, now: 1000)
        table.bringToDisk(now: 1000)
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
        let before = try #require(memoryPaths.first)
        let next = start(placeCountMax: 5)
        try repeatWhile(next.keyCount < 6) {
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
