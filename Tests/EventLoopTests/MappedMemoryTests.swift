import EventLoop
import Foundation
import Testing

@Suite("Memory of mapped files")
struct MappedMemoryTests {
    private let directory: TestDirectory
    private static let byteCount = 8192

    init() throws { directory = try TestDirectory() }
}

extension MappedMemoryTests {
    /// A file of two pages, mapped, with a one in each.
    private func map(_ name: String) throws -> UnsafeMutableRawPointer {
        let path = directory.path(name)
        try Data(repeating: 1, count: Self.byteCount).write(to: URL(fileURLWithPath: path))
        let file = open(path, O_RDWR)
        defer { close(file) }
        let start = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        return try #require(start == MAP_FAILED ? nil : start)
    }

    @Test("that the system cannot bring any more are empty, and their group is lost")
    func cutShort() throws {
        let group = MappedMemory.Group()
        let other = MappedMemory.Group()
        let places = try ["a", "b", "c"].map(map)
        for (place, group) in zip(places, [group, group, other]) {
            #expect(MappedMemory.add(place, byteCount: Self.byteCount, offset: 0, to: group))
        }
        #expect(truncate(directory.path("a"), 4096) == 0)
        #expect(places[0].load(as: UInt8.self) == 1)
        #expect(!group.isLost)
        #expect(places[0].load(fromByteOffset: 4096, as: UInt8.self) == 0)
        #expect(group.isLost)
        #expect(!other.isLost)
        // Nothing of the group is the file's any more, in either direction.
        #expect(places[0].load(as: UInt8.self) == 0)
        #expect(places[1].load(as: UInt8.self) == 0)
        #expect(places[2].load(as: UInt8.self) == 1)
        places[1].storeBytes(of: 7, as: UInt8.self)
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.path("b"))).first == 1)
        #expect(!MappedMemory.add(places[2] + 4096, byteCount: 4096, offset: 4096, to: group))
        for place in places {
            MappedMemory.remove(place)
            munmap(place, Self.byteCount)
        }
    }
}
