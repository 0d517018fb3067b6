import Attestation
import Background
import Bytes
import Foundation
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Testing

@Suite("The keeper of accepted counters")
struct FloorKeeperTests {}

extension FloorKeeperTests {
    @Test("tells each trouble when it comes, also while there is another, and the end of all")
    func troubles() throws {
        let directory = try ScratchDirectory(inMemory: true)
        let log = RecordedEvents()
        let location = FloorLocation(
            diskBase: directory.path(of: "disk/floors"),
            memoryBase: directory.path(of: "memory/floors"))
        let floors = FloorTable(at: location)
        let registry = try SQLiteRegistry(path: directory.path(of: "registry.db"))
        let keeper = try FloorKeeper(floors: floors, registry: registry, log: log)
        func tend(_ now: Int64) -> [String] {
            keeper.tend(now: now)
            return log.take().filter { $0.hasPrefix("floors_") && !$0.hasPrefix("floors_unread") }
        }
        #expect(tend(0).map { $0.contains("on the disk alone") } == [true])
        #expect(tend(1).isEmpty)
        floors.note(KeyID(digest: Bytes32(word0: 7, word1: 7, word2: 7, word3: 7)), 1, now: 0)
        #expect(tend(5000).map { $0.contains("are not on the disk") } == [true])
        #expect(tend(5001).isEmpty)
        #expect(mkdir(directory.path(of: "memory"), 0o700) == 0)
        #expect(tend(5002).isEmpty)
        #expect(mkdir(directory.path(of: "disk"), 0o700) == 0)
        floors.bringToDisk(now: 10_000, isWhole: true)
        let end = tend(10_000)
        #expect(end.count == 1 && end[0].hasPrefix("floors_kept"))
        keeper.end()
        registry.close()
    }
}
