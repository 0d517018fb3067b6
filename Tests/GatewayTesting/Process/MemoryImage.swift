import CSpawn
import Foundation

/// What a core dump of a process would hold, read by root while it runs (`/proc/PID/mem`); or what
/// a core dump does hold.
public struct MemoryImage {
    private var pieces: [[UInt8]] = []

    /// Every part of the process's memory that may be read, while it stands still.
    public init(of process: ChildProcess) throws {
        process.stop()
        defer { process.resume() }
        let maps = try SystemText.read("/proc/\(process.processID)/maps")
        let memory = open("/proc/\(process.processID)/mem", O_RDONLY)
        guard memory >= 0 else { throw MemoryImageError(description: "mem: errno \(errno)") }
        defer { close(memory) }
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            // What the kernel lends each process holds nothing of its own.
            guard ends.count == 2, words[1].hasPrefix("r"), !line.hasSuffix("]") || isOwn(words[5])
            else { continue }
            pieces.append(Self.read(memory, from: ends[0], to: ends[1]))
        }
    }

    /// A core dump.
    public init(core path: String) throws {
        pieces = [[UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))]
    }

    private static func read(_ memory: Int32, from start: Int, to end: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: end - start)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { target in
                pread(
                    memory, target.baseAddress?.advanced(by: filled), target.count - filled,
                    start + filled)
            }
            // Behind the end of a mapped file there is nothing, for a core neither.
            if count <= 0 { break }
            filled += count
        }
        return Array(bytes.prefix(filled))
    }

    /// Whether the bytes stand anywhere.
    public func contains(_ needle: [UInt8]) -> Bool {
        pieces.contains { memmem($0, $0.count, needle, needle.count) != nil }
    }
}

/// Of what has no file: the heap and stacks.
private func isOwn(_ name: Substring) -> Bool {
    !["[vvar]", "[vvar_vclock]", "[vdso]", "[vsyscall]"].contains(name)
}

public struct MemoryImageError: Error, CustomStringConvertible {
    public let description: String
}
