import Foundation
import KeyStore

/// An empty directory that is removed with everything in it when its owner is released.
public final class ScratchDirectory: Sendable {
    public let path: String

    /// Room for the clusters of all tests that run at a time.
    private static let memoryByteCountMin = 4 << 30

    /// `inMemory`: where the system has such a place with room; for what would wait for the disk
    /// too often, or makes a thousand files.
    public init(inMemory: Bool = false) throws {
        let files = FileManager.default
        let shared = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let room = try? files.attributesOfFileSystem(forPath: shared.path)[.systemFreeSize]
        let hasRoom = (room as? Int ?? 0) >= Self.memoryByteCountMin
        let fits = hasRoom && files.isWritableFile(atPath: shared.path)
        let place = inMemory && fits ? shared : files.temporaryDirectory
        let url =
            place
            .appendingPathComponent("sallyport-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path
        ExitRegister.add(directory: path)
    }

    deinit {
        removeFloors()
        try? FileManager.default.removeItem(atPath: path)
        ExitRegister.remove(directory: path)
    }

    /// Gateways that were killed leave accepted counters in memory for the next start.
    private func removeFloors() {
        let files = FileManager.default
        for name in (try? files.contentsOfDirectory(atPath: path)) ?? [] where name.hasSuffix(".db")
        {
            let location = FloorLocation(registryPath: path + "/" + name, directory: .standard)
            for path in location.memoryPaths { try? files.removeItem(atPath: path) }
        }
    }

    public func path(of name: String) -> String { path + "/" + name }

    /// Writes a file and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        try write(Array(text.utf8), to: name)
    }

    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(of: name)))
        return path(of: name)
    }

    /// Puts another file in the place of the one called `name`, with its rights. A program that
    /// reads it meanwhile sees the old text or the new one, never a part.
    public func replace(_ name: String, with text: String) throws {
        let files = FileManager.default
        let rights = try files.attributesOfItem(atPath: path(of: name))[.posixPermissions]
        let next = try write(text, to: name + ".next")
        try files.setAttributes([.posixPermissions: rights as Any], ofItemAtPath: next)
        guard rename(next, path(of: name)) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path(of: name)])
        }
    }
}
