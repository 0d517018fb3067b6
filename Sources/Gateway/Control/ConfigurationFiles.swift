import EventLoop

/// The files that a configuration was made of when it was last read.
public final class ConfigurationFiles: Sendable {
    /// What tells each file from any other, by path; empty for one that was not there.
    typealias Stamps = [String: [UInt64]]

    private let read = Locked<Stamps>([:])

    public init() {}

    /// A reading begins: what it notes takes the place of what an earlier one has noted.
    public func begin() { read.withLock { $0 = [:] } }

    /// To be called before the file at `path` is read, so that no later change is missed.
    public func note(_ path: String) {
        let stamp = Self.stamp(path)
        // What was read first may be older than what is there now.
        read.withLock { if $0[path] == nil { $0[path] = stamp } }
    }

    /// The files as they were read, and as they are now.
    func stamps() -> (read: Stamps, now: Stamps) {
        let read = read.withLock { $0 }
        let now = Dictionary(uniqueKeysWithValues: read.keys.map { ($0, Self.stamp($0)) })
        return (read, now)
    }

    /// The identity of the file that the path leads to, by whatever links.
    private static func stamp(_ path: String) -> [UInt64] { File.identity(path) ?? [] }
}
