/// The processes that hold locks on a file, as the kernel's tables tell (proc(5)).
public enum LockHolder {
    /// The holders of POSIX locks (fcntl(2)) on bytes of `range` of the file at `path`, in their
    /// order, each once. Processes of another PID namespace are not seen.
    public static func all(of path: String, in range: ClosedRange<Int>) -> [NamedProcess] {
        guard let inode = File.identity(path)?.first,
            let table = try? File.read("/proc/locks", byteCountMax: 16 << 20)
        else { return [] }
        var found: [Int32] = []
        for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
            guard let id = holder(line, inode, range), !found.contains(id) else { continue }
            found.append(id)
        }
        return found.sorted().map { NamedProcess(processID: $0) }
    }

    /// The process of a line like `7: POSIX  ADVISORY  READ 4242 fe:01:131 123 123`.
    private static func holder(
        _ line: Substring, _ inode: UInt64, _ range: ClosedRange<Int>
    ) -> Int32? {
        let columns = line.split(separator: " ")
        guard columns.count == 8, columns[1] == "POSIX", let id = Int32(columns[4]), id > 0,
            let place = columns[5].split(separator: ":").last, UInt64(place) == inode,
            let first = Int(columns[6]), let last = Int(columns[7]), first <= last,
            range.overlaps(first...last)
        else { return nil }
        return id
    }
}
