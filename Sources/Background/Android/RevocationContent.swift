import AndroidAttestation
import EventLoop

/// The content of a file that something else keeps up to date, and its age.
struct RevocationContent: Sendable {
    let document: [UInt8]
    let age: Duration

    /// Reads the file. Blocks.
    init(of path: String, wallMilliseconds: Int64) throws(IOError) {
        // Before the content, so that the list is never younger than it seems.
        let modified = File.modifiedMilliseconds(path) ?? wallMilliseconds
        document = try File.read(path, byteCountMax: RevocationList.byteCountMax)
        let age = Duration.milliseconds(wallMilliseconds - modified)
        guard age + Self.clockDifferenceMax >= .zero else { throw IOError(path, .changedInFuture) }
        self.age = max(.zero, age)
    }

    /// The time by which the clock of a file server may be ahead of this machine's.
    private static let clockDifferenceMax = Duration.seconds(300)
}
