import Attestation
import EventLoop
import Foundation
import KeyStore
import SQLiteKeyStore
import Testing

@Suite("A copy of a registry that is in use", .timeLimit(.minutes(30)))
final class SQLiteBackupTests {
    let directory: TemporaryDirectory
    var generator = SeededGenerator(seed: 31)
    var copyPath: String { directory.path + "/copy.db" }

    init() throws { directory = try TemporaryDirectory() }
}

extension SQLiteBackupTests {
    @Test("holds every key acknowledged before, while others are enrolled, and opens by itself")
    func whileEnrolling() throws {
        let registry = try SQLiteRegistry(path: directory.registryPath)
        let before = (0..<50).map { _ in generator.record() }
        for record in before {
            _ = try registry.enrol(record, challenge: generator.bytes16())
        }
        let bell = Bell()
        let answered = Locked(0)
        for _ in 0..<400 {
            registry.enrol(generator.record(), challenge: generator.bytes16()) { _ in
                answered.withLock { $0 += 1 }
                bell.ring()
            }
        }
        let administration = try SQLiteAdministration(path: directory.registryPath)
        let count = try administration.backUp(to: copyPath)
        #expect(bell.wait { answered.withLock { $0 } == 400 })
        #expect((50...450).contains(count))
        registry.close()
        #expect(directory.names.filter { $0.hasPrefix("copy") } == ["copy.db"])
        let mode = try FileManager.default.attributesOfItem(atPath: copyPath)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let copy = try SQLiteRegistry(path: copyPath)
        for record in before { #expect(try copy.find(record.keyID) == record) }
        copy.close()
        let counts = try SQLiteAdministration(path: copyPath).counts()
        #expect(counts.reduce(0) { $0 + $1.count } == count)
    }

    @Test("writes over nothing, and needs a directory")
    func existing() throws {
        try SQLiteRegistry(path: directory.registryPath).close()
        let administration = try SQLiteAdministration(path: directory.registryPath)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: copyPath))
        #expect(throws: RegistryOpenError.self) { try administration.backUp(to: self.copyPath) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: copyPath)) == Data("mine".utf8))
        #expect(throws: RegistryOpenError.self) {
            try administration.backUp(to: self.directory.registryPath)
        }
        #expect(throws: RegistryOpenError.self) {
            try administration.backUp(to: self.directory.path + "/none/copy.db")
        }
    }

    @Test("a registry that is damaged gives no copy")
    func damaged() throws {
        let administration = try SQLiteAdministration(
            path: directory.registryPath, createsIfMissing: true)
        let load = administration.beginImport()
        for _ in 0..<5000 { try load.add(generator.record()) }
        _ = try load.finish()
        let copied = try TemporaryDirectory()
        _ = try administration.backUp(to: copied.registryPath)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: copied.registryPath))
        for page in 30..<40 { for offset in 0..<4096 { bytes[page * 4096 + offset] = 0xA5 } }
        try bytes.write(to: URL(fileURLWithPath: copied.registryPath))
        let opened = try SQLiteAdministration(path: copied.registryPath)
        #expect(throws: RegistryOpenError.self) {
            try SQLiteAdministration.checkWhole(path: copied.registryPath)
        }
        #expect(throws: RegistryOpenError.self) { try opened.backUp(to: self.copyPath) }
        #expect(!FileManager.default.fileExists(atPath: copyPath))
    }
}
