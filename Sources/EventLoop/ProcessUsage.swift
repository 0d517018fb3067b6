import Bytes
import CLibevent
import CLinux

/// The system resources that this process uses, by the kernel's tables (proc(5)).
public struct ProcessUsage: Hashable, Sendable {
    /// The processor's time, in user and system mode.
    public let processorNanoseconds: UInt64
    public let residentByteCount: UInt64
    public let virtualByteCount: UInt64
    /// The time at which the process began, in nanoseconds since 1970. An upgrade goes on in the
    /// same process.
    public let startedAtNanoseconds: UInt64

    /// Nil if the system does not tell.
    public static func read() -> ProcessUsage? {
        guard let status = text("/proc/self/stat"), let system = text("/proc/stat") else {
            return nil
        }
        return ProcessUsage(
            status: status, system: system,
            ticksPerSecond: UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)))),
            pageByteCount: UInt64(max(1, sysconf(Int32(_SC_PAGESIZE)))))
    }

    /// `status`: the content of `/proc/PID/stat`; `system`: that of `/proc/stat`.
    package init?(status: String, system: String, ticksPerSecond: UInt64, pageByteCount: UInt64) {
        // The second field is the program's name in parentheses, which may hold spaces and
        // parentheses.
        guard let nameEnd = status.lastIndex(of: ")") else { return nil }
        let fields = status[status.index(after: nameEnd)...].split(whereSeparator: \.isWhitespace)
        // The first of the fields after it is number 3 in the manual.
        func field(_ number: Int) -> UInt64? {
            fields.indices.contains(number - 3) ? UInt64(fields[number - 3]) : nil
        }
        let bootLine = system.split(separator: "\n").first { $0.hasPrefix("btime ") }
        guard let userTicks = field(14), let systemTicks = field(15), let startTicks = field(22),
            let virtualByteCount = field(23), let residentPageCount = field(24),
            let bootedAt = bootLine.flatMap({ UInt64($0.dropFirst(6)) })
        else { return nil }
        func nanoseconds(_ ticks: UInt64) -> UInt64 {
            ticks / ticksPerSecond * 1_000_000_000
                + ticks % ticksPerSecond * 1_000_000_000 / ticksPerSecond
        }
        processorNanoseconds = nanoseconds(userTicks + systemTicks)
        residentByteCount = residentPageCount * pageByteCount
        self.virtualByteCount = virtualByteCount
        startedAtNanoseconds = bootedAt * 1_000_000_000 + nanoseconds(startTicks)
    }

    /// The number of open descriptors; nil if the system does not tell.
    public static var descriptorCount: Int? {
        guard let stream = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe closedir(stream) }
        var count = 0
        while unsafe readdir(stream) != nil { count += 1 }
        // Without the two entries for directories, and without the descriptor opened here.
        return count - 3
    }

    private static func text(_ path: String) -> String? {
        guard let bytes = try? File.read(path, byteCountMax: 1 << 20) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
