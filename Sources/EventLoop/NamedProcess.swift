/// A process of this system with the name of its program.
public struct NamedProcess: Hashable, Sendable {
    public let processID: Int32
    /// The program's name, as the kernel keeps it (proc(5), `comm`). Empty if it does not tell.
    public let name: String

    init(processID: Int32) {
        let name = (try? File.read("/proc/\(processID)/comm", byteCountMax: 64)) ?? []
        self.processID = processID
        self.name = String(decoding: name.filter { $0 >= 0x20 }, as: UTF8.self)
    }

    /// For a message: `process 4242 (sqlite3)`.
    public var words: String {
        "process \(processID)" + (name.isEmpty ? "" : " (\(name))")
    }
}
