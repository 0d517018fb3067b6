import CSpawn
import Foundation

/// The index of SQLite's log (`-shm`), as this process has mapped it.
public enum MappedIndex {
    /// Where the first region of the file at `path` lies; nil if this process has not mapped it.
    public static func address(of path: String) throws -> UInt? {
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let maps = try SystemText.read("/proc/self/maps")
        for line in maps.split(separator: "\n") where line.hasSuffix(" " + real) {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count > 2, UInt(words[2], radix: 16) == 0 else { continue }
            return words[0].split(separator: "-").first.flatMap { UInt($0, radix: 16) }
        }
        return nil
    }

    /// Tells this thread that the system cannot bring the first page of the file, which stays as
    /// it is for every other process. False if it is not mapped.
    public static func fail(_ path: String) throws -> Bool {
        guard let address = try address(of: path) else { return false }
        return sallyport_send_fault(UnsafeMutableRawPointer(bitPattern: address)) == 0
    }
}
