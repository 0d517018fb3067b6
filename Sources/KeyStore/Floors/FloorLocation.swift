import Bytes
import Crypto
public import EventLoop

/// The places of the files of floors of one registry: one beside the registry, on its disk, and one
/// in a directory in memory (tmpfs), which keeps what a killed process has accepted last.
public struct FloorLocation: Sendable {
    /// The directory in memory.
    public enum Directory: Hashable, Sendable {
        /// The first of ``FloorLocation/standardDirectories`` that can be used.
        case standard
        case path(String)
        /// No file in memory.
        case none
    }

    /// The runtime directory of our systemd unit, and the one that every Linux has for shared
    /// memory.
    public static let standardDirectories = ["/run/sallyport", "/dev/shm"]

    /// The prefix of the names of files beside the registry.
    let diskBase: String
    /// The prefixes of the names of files in memory: the first is the one for this process, if it
    /// has any; all are read, because another process may have used another.
    let memoryBases: [String]
    let hasMemory: Bool
    /// The rights of the registry, which the files get, too.
    let rights: FileRights?

    /// `registryPath`: the path of an existing SQLite registry.
    public init(registryPath: String, directory: Directory) {
        let path = File.resolved(registryPath)
        diskBase = path + ".floors"
        rights = FileRights(ofFileAt: path)
        let name = Self.name(ofRegistryAt: path)
        let standard = Self.standardDirectories
        let chosen: String?
        switch directory {
        case .standard: chosen = standard.first { Self.obstacle(in: $0) == nil }
        case .path(let path): chosen = path
        case .none: chosen = nil
        }
        hasMemory = chosen != nil
        let directories = [chosen].compactMap(\.self) + standard.filter { $0 != chosen }
        memoryBases = directories.map { "\($0)/\(name)" }
    }

    /// For tests: all files in memory, of processes that live and of others.
    package var memoryPaths: [String] {
        memoryBases.flatMap { (try? File.namesBeginning($0)) ?? [] }
    }

    /// For tests: a base for each kind of file, nil for none.
    package init(diskBase: String, memoryBase: String?, rights: FileRights? = nil) {
        self.diskBase = diskBase
        self.rights = rights
        memoryBases = [memoryBase].compactMap(\.self)
        hasMemory = memoryBase != nil
    }

    /// The reason why no file can be made in memory in `directory`.
    public static func obstacle(in directory: String) -> IOError? {
        if let reason = File.obstacle(inDirectory: directory) {
            return IOError(directory, reason)
        }
        return File.isInMemory(directory) ? nil : IOError(directory, .notInMemory)
    }

    /// A name that tells the registry from every other whose files may lie in the same directory,
    /// including registries of containers that share it. The name alone is not enough, nor is the
    /// inode, which is used again.
    private static func name(ofRegistryAt path: String) -> String {
        let directory = File.directory(of: path)
        let words = (File.birth(directory) ?? []).map { String($0, radix: 16) }
        // The path in full might make the file name too long.
        let text = words.joined(separator: "-") + "/" + path.dropFirst(directory.count)
        let digest = SHA256.hash(Array(text.utf8)).array.prefix(12)
        return "sallyport-\(Hex.encode(Array(digest))).floors"
    }
}
