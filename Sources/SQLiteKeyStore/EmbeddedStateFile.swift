import Attestation
import Bytes
import Crypto
import EventLoop
import KeyStore

/// The file beside a registry that keeps the embedded counters of a clean stop for the next start:
/// the parts of an ``EmbeddedSnapshot``, one after another.
///
/// It means nothing by itself. The registry has the length and the digest of each part, in the row
/// that a start deletes before it serves. If the parts themselves were in the registry, they would
/// go through its log and then into its pages, and at the start zeros would go the same way
/// (`secure_delete`).
struct EmbeddedStateFile {
    /// The registry's entry for a part.
    struct Part {
        let byteCount: Int
        let digest: Bytes32
    }

    let path: String
    private var draftPath: String { path + ".draft" }

    init(registryPath: String) { path = registryPath + ".counters" }

    /// Writes all parts and syncs them to the disk. Needs memory for one part at a time.
    func write(_ snapshot: EmbeddedSnapshot) throws(StoreError) -> [Part] {
        var parts: [Part] = []
        do {
            let file = try OwnedFile(path: path, draft: draftPath)
            var offset = 0
            do {
                for index in 0..<snapshot.partCount {
                    let bytes = try snapshot.part(index)
                    try file.write(bytes.span, at: offset)
                    offset += bytes.count
                    parts.append(Part(byteCount: bytes.count, digest: SHA256.hash(bytes)))
                }
                try file.publish()
            } catch {
                file.discard()
                throw error
            }
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError("registry: \(error)")
        }
        return parts
    }

    /// The snapshot that was written. The file loses its name now, and its space once the snapshot
    /// is released. Throws if there is no file.
    func take(
        _ incarnation: Incarnation, _ clock: EmbeddedClock, _ parts: [Part]
    ) throws(IOError) -> EmbeddedSnapshot {
        let file = try RegularFile(path)
        try File.remove(path)
        var offset = 0
        let places = parts.map { part in
            defer { offset += part.byteCount }
            return (offset: offset, part: part)
        }
        return EmbeddedSnapshot(
            incarnation: incarnation, clock: clock, partCount: parts.count
        ) { index throws(StoreError) in
            let place = places[index]
            let bytes: [UInt8]
            do throws(IOError) {
                bytes = try file.read(at: place.offset, byteCount: place.part.byteCount)
            } catch {
                throw StoreError("\(error)")
            }
            // A counter that is far too high would lock its device out.
            guard SHA256.hash(bytes) == place.part.digest else {
                throw StoreError("\(file.path): damaged")
            }
            return bytes
        }
    }

    /// Removes the file of an interrupted stop, if there is one.
    func remove() {
        for path in [path, draftPath] { try? File.remove(path) }
    }
}
