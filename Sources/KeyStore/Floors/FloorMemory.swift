import Attestation
import EventLoop
import Synchronization

/// The highest counters of a ``FloorTable`` in a file on a tmpfs. They outlive the process, however
/// it ends. Noting one costs a request one store into memory, which no disk can delay.
final class FloorMemory: Sendable {
    private struct Room: Sendable {
        var capacity = 1
        /// The reason why the file did not grow when it was tried last.
        var failure: IOError?
    }

    private let file: MappedFile
    private let placeCountMax: Int
    private let room = Locked(Room())
    /// The number of places that may be stored.
    private let capacity = Atomic(1)

    /// The number of places by which the file grows: 64 KiB, which a request can wait for.
    private static let growthCount = 1024

    /// Makes a draft without any key. ``publish()`` gives it its name.
    init(
        _ name: FloorFileName, rights: FileRights?, placeCountMax: Int
    ) throws(IOError) {
        self.placeCountMax = placeCountMax
        file = try MappedFile(
            path: name.path, draft: name.draftPath, rights: rights,
            byteCountMax: placeCountMax * FloorForm.placeByteCount)
        do throws(IOError) {
            try file.grow(fromByteCount: 0, to: FloorForm.placeByteCount)
            file.store(FloorForm.magic, atWord: 0)
        } catch {
            file.discard()
            throw error
        }
    }

    var path: String { file.path }

    /// Gives the file its name, replacing an older file.
    func publish() throws(IOError) {
        do throws(IOError) {
            try file.publish()
        } catch {
            file.discard()
            throw error
        }
    }

    /// Removes the file, if it is still this one.
    func remove() { if isKept { try? File.remove(path) } }

    /// False once it has to be made again: it was cut short, removed or replaced.
    var isKept: Bool { file.isKept }

    /// Makes room ahead of keys to come, so that requests need not, and tries again if there was
    /// none: for a slow timer. `placeCount`: the places taken so far. Returns the reason why the
    /// file cannot grow.
    func makeRoom(placeCount: Int) -> IOError? {
        room.withLock { room in
            room.failure = nil
            let wanted = min(placeCount + Self.growthCount, placeCountMax)
            while room.capacity < wanted, room.failure == nil { grow(&room) }
            return room.failure
        }
    }

    /// Stores a counter. False if there is no room for the place.
    func store(_ counter: UInt32, of keyID: KeyID, at place: Int32) -> Bool {
        guard place > 0, hasRoom(for: Int(place)) else { return false }
        let first = Int(place) * FloorForm.placeWordCount
        let words = FloorForm.words(counter, of: keyID)
        file.store(words.0, atWord: first)
        file.store(words.1, atWord: first + 1)
        file.store(words.2, atWord: first + 2)
        file.store(words.3, atWord: first + 3)
        file.store(words.4, atWord: first + FloorForm.markWord)
        return true
    }

    func clear(_ place: Int32) {
        guard place > 0, Int(place) < capacity.load(ordering: .relaxed) else { return }
        file.store(0, atWord: Int(place) * FloorForm.placeWordCount + FloorForm.markWord)
    }

    private func hasRoom(for place: Int) -> Bool {
        if place < capacity.load(ordering: .relaxed) { return true }
        return room.withLock { room in
            while room.capacity <= place, room.failure == nil { grow(&room) }
            return place < room.capacity
        }
    }

    private func grow(_ room: inout Room) {
        let next = min(room.capacity + Self.growthCount, placeCountMax)
        guard next > room.capacity else {
            room.failure = IOError(
                path, .tooLarge(byteCountMax: placeCountMax * FloorForm.placeByteCount))
            return
        }
        do throws(IOError) {
            try file.grow(
                fromByteCount: room.capacity * FloorForm.placeByteCount,
                to: next * FloorForm.placeByteCount)
            room.capacity = next
            capacity.store(next, ordering: .relaxed)
        } catch {
            room.failure = error
        }
    }
}
