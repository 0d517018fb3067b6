import Attestation
import EventLoop

/// The copy of a ``FloorTable`` beside the registry, which survives a power cut. Every call may
/// block for as long as the disk does.
struct FloorDisk: Sendable {
    /// The changes in the places of keys since the last time.
    struct Changes: Sendable {
        var stored: [(place: Int32, keyID: KeyID, counter: UInt32)] = []
        /// Places that hold no key any more.
        var cleared: [Int32] = []
    }

    private let name: FloorFileName
    private let rights: FileRights?
    private var file: OwnedFile?
    /// A write has failed, so that the content of the file is not known.
    private var isDoubtful = false

    init(_ name: FloorFileName, rights: FileRights?) {
        self.name = name
        self.rights = rights
    }

    var path: String { name.path }

    /// False if the file was removed or replaced, or may lack what was written to it: it has to be
    /// made anew.
    var isWhole: Bool { !isDoubtful && file?.isInPlace ?? false }

    /// Makes the file anew, with these floors alone, and brings it to the disk. The file before it
    /// stays, and stays locked, until it is replaced.
    mutating func replace(with changes: Changes) throws(IOError) {
        let fresh = try OwnedFile(path: name.path, draft: name.draftPath, rights: rights)
        do throws(IOError) {
            try fresh.write(FloorForm.heading.span, at: 0)
            try Self.write(changes.stored, to: fresh)
            try fresh.publish()
        } catch {
            fresh.discard()
            throw error
        }
        file = fresh
        isDoubtful = false
    }

    /// Writes changes to the file, which must be whole.
    mutating func write(_ changes: Changes) throws(IOError) {
        guard let file else { return }
        do throws(IOError) {
            try Self.write(changes.stored, to: file)
            var empty: [UInt8] = []
            FloorForm.append(nil, to: &empty)
            for place in changes.cleared {
                try file.write(empty.span, at: Int(place) * FloorForm.placeByteCount)
            }
        } catch {
            isDoubtful = true
            throw error
        }
    }

    /// Brings to the disk what was written. After a failure the system may have forgotten it, so
    /// the file has to be made anew.
    mutating func sync() throws(IOError) {
        do throws(IOError) {
            try file?.sync()
        } catch {
            isDoubtful = true
            throw error
        }
    }

    /// Removes the file. To be called when the registry has all floors of it.
    mutating func remove() {
        if isWhole { try? File.remove(name.path) }
        file = nil
    }

    /// Writes places. Neighbours are written at once.
    private static func write(
        _ stored: [(place: Int32, keyID: KeyID, counter: UInt32)], to file: OwnedFile
    ) throws(IOError) {
        var bytes: [UInt8] = []
        var first = 0
        var next = 0
        for floor in stored.sorted(by: { $0.place < $1.place }) {
            if Int(floor.place) != next || bytes.count >= pieceByteCountMax {
                try file.write(bytes.span, at: first * FloorForm.placeByteCount)
                bytes.removeAll(keepingCapacity: true)
                first = Int(floor.place)
            }
            FloorForm.append((floor.counter, floor.keyID), to: &bytes)
            next = Int(floor.place) + 1
        }
        try file.write(bytes.span, at: first * FloorForm.placeByteCount)
    }

    private static let pieceByteCountMax = 1 << 20
}
