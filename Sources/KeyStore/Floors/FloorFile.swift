import AppAttest
import Bytes
import Crypto
import EventLoop

/// The highest counters of a ``FloorTable`` in a file beside the registry that is memory, too: they
/// outlive the process, however it ends, and cost a request one store into memory.
///
/// Each process has a file of its own, locked while the process lives: see ``FloorInheritance``.
/// After the magic word come places of eight words: the key id, then counter and check, then
/// nothing. What a power cut left torn fails its check and is left out.
final class FloorFile: Sendable {
    /// Another word for another layout, so that no version reads what it does not understand.
    private static let magic: UInt64 = 0x7370_666C_6F6F_7231
    private static let placeWordCount = 8
    private static let counterWord = 4
    /// The file grows by so many keys: 64 KiB, which a request can wait for.
    private static let growthCount = 1024
    /// A GiB of addresses, not of memory. Keys beyond it are kept in memory alone.
    static let placeCountMax = 1 << 24
    static let byteCountMax = placeCountMax * placeWordCount * 8

    private struct Places: Sendable {
        var free: [Int32] = []
        var count = 1
        var capacity = 1
        /// Why the file did not grow when it was tried last.
        var failure: IOError?
    }

    private let path: String
    private let placeCountMax: Int
    private let memory: MappedFile
    private let places = Locked(Places())

    /// A new file beside `base`, locked before it has a name that others look for.
    init(
        beside base: String, placeCountMax: Int = FloorFile.placeCountMax
    ) throws(IOError) {
        let number = RandomBytes.word()
        path = Self.path(beside: base, number)
        self.placeCountMax = placeCountMax
        let draftPath = Self.path(beside: base + Self.draftSuffix, number)
        memory = try MappedFile(
            creating: draftPath, byteCountMax: placeCountMax * Self.placeWordCount * 8)
        do throws(IOError) {
            try memory.grow(fromByteCount: 0, to: Self.placeWordCount * 8)
            memory.store(Self.magic, atWord: 0)
            try memory.rename(draftPath, to: path)
        } catch {
            try? File.remove(draftPath)
            throw error
        }
    }

    static let draftSuffix = ".new"

    private static func path(beside base: String, _ number: UInt64) -> String {
        var name = ByteBuffer()
        name.append(paddedHexadecimal: number)
        return base + "-" + String(decoding: name.readable.array, as: UTF8.self)
    }

    /// Whether `path` is one that a file beside `base` can have.
    static func isPath(_ path: String, beside base: String) -> Bool {
        let name = path.utf8.dropFirst(base.utf8.count)
        return path.hasPrefix(base) && name.count == 17 && name.first == 0x2D
            && name.dropFirst().allSatisfy { Hex.value($0) != nil }
    }

    /// To be called when the registry has all that it holds.
    func remove() { try? File.remove(path) }

    /// What the bytes of a file hold.
    static func floors(
        in bytes: [UInt8], path: String
    ) throws(FloorFileError) -> [(keyID: KeyID, counter: UInt32)] {
        if bytes.isEmpty { return [] }
        var floors: [(keyID: KeyID, counter: UInt32)] = []
        let words = bytes.count / 8
        let span = bytes.span
        func word(_ index: Int) -> UInt64 { span.bigEndianWord(at: index * 8).byteSwapped }
        guard words >= placeWordCount, word(0) == magic else { throw .foreign(path: path) }
        for place in 1..<max(1, words / placeWordCount) {
            let first = place * placeWordCount
            let mark = word(first + counterWord)
            guard mark != 0 else { continue }
            let keyID = KeyID(
                digest: Bytes32(
                    word0: word(first), word1: word(first + 1), word2: word(first + 2),
                    word3: word(first + 3)))
            let counter = UInt32(mark >> 32)
            if mark == Self.mark(counter, of: keyID) { floors.append((keyID, counter)) }
        }
        return floors
    }

    /// Makes room ahead of keys to come, so that requests need not, and tries again where there was
    /// none: for a slow timer. What it returns keeps the file from growing.
    func makeRoom() -> IOError? {
        places.withLock { places in
            places.failure = nil
            let room = places.capacity - places.count + places.free.count
            if room < Self.growthCount { grow(&places) }
            return places.failure
        }
    }

    /// Brings to the disk what was stored so far. Blocks.
    func sync() throws(IOError) { try memory.sync() }

    /// -1 where there is no room for another.
    func takePlace() -> Int32 {
        places.withLock { places in
            if let place = places.free.popLast() { return place }
            if places.count == places.capacity, places.failure == nil { grow(&places) }
            guard places.count < places.capacity else { return -1 }
            places.count += 1
            return Int32(places.count - 1)
        }
    }

    private func grow(_ places: inout Places) {
        let next = min(places.capacity + Self.growthCount, placeCountMax)
        guard next > places.capacity else {
            places.failure = IOError(
                path, .tooLarge(byteCountMax: placeCountMax * Self.placeWordCount * 8))
            return
        }
        do throws(IOError) {
            try memory.grow(
                fromByteCount: places.capacity * Self.placeWordCount * 8,
                to: next * Self.placeWordCount * 8)
            places.capacity = next
        } catch {
            places.failure = error
        }
    }

    func store(_ counter: UInt32, of keyID: KeyID, at place: Int32) {
        guard place > 0 else { return }
        let first = Int(place) * Self.placeWordCount
        let digest = keyID.digest
        memory.store(digest.word0, atWord: first)
        memory.store(digest.word1, atWord: first + 1)
        memory.store(digest.word2, atWord: first + 2)
        memory.store(digest.word3, atWord: first + 3)
        memory.store(Self.mark(counter, of: keyID), atWord: first + Self.counterWord)
    }

    func clear(_ place: Int32) {
        guard place > 0 else { return }
        memory.store(0, atWord: Int(place) * Self.placeWordCount + Self.counterWord)
        places.withLock { $0.free.append(place) }
    }

    private static func mark(_ counter: UInt32, of keyID: KeyID) -> UInt64 {
        let digest = keyID.digest
        var mixed = digest.word0 ^ digest.word1 &* 3 ^ digest.word2 &* 5 ^ digest.word3 &* 7
        mixed = (mixed ^ UInt64(counter)) &* 0x9E37_79B9_7F4A_7C15
        // Never 0, which marks an empty place.
        return UInt64(counter) << 32 | (mixed >> 32) | 1
    }
}
