import EventLoop

/// The files that a configuration was made of when it was last read.
public final class ConfigurationFiles: Sendable {
    /// The stamp of each file, which tells it from any other, by path; empty for a file that was
    /// not there.
    typealias Stamps = [String: [UInt64]]

    private let read = Locked<Stamps>([:])

    public init() {}

    /// Begins a reading, which forgets the files that an earlier one has noted.
    public func begin() { read.withLock { $0 = [:] } }

    /// Must be called before the file at `path` is read, so that no later change is missed.
    public func note(_ path: String) {
        let stamp = Self.stamp(path)
        // The first stamp stays: what was read then may be older than what is there now.
        read.withLock { if $0[path] == nil { $0[path] = stamp } }
    }

    /// The stamps of the files when they were read, and their stamps now.
    func stamps() -> (read: Stamps, now: Stamps) {
        let read = read.withLock { $0 }
        let now = Dictionary(uniqueKeysWithValues: read.keys.map { ($0, Self.stamp($0)) })
        return (read, now)
    }

    /// The identity of the file that the path leads to, through all links.
    private static func stamp(_ path: String) -> [UInt64] { File.identity(path) ?? [] }
}
