import Foundation

/// Threads of a process that stand still while its others go on, as those do that wait for a disk.
/// They go on when this is released.
public final class StoppedThreads: Sendable {
    /// What holds them, as a debugger would. Its end lets them go.
    private let holder: ChildProcess

    /// `names`: those of the threads; every thread of that name stops. The main thread has the
    /// program's.
    public init(of process: ChildProcess, named names: Set<String>) throws {
        let ids = try Self.threads(of: process).filter { names.contains($0.name) }.map(\.id)
        guard Set(names).count <= ids.count else {
            throw ChildProcessError(description: "no threads \(names) of \(process.processID)")
        }
        holder = try ChildProcess(PythonInterpreter.debian.path, ["-c", Self.holding] + ids)
        try holder.waitForLine(on: .standardOutput, containing: "stopped")
    }

    /// True if this process may stop the threads of a program that forbids to look into it.
    public static let isAllowed = geteuid() == 0

    public static func threads(of process: ChildProcess) throws -> [(id: String, name: String)] {
        let path = "/proc/\(process.processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: path).compactMap { id in
            // One may have ended just now.
            let name = try? String(contentsOfFile: "\(path)/\(id)/comm", encoding: .utf8)
            return name.map { (id, $0.trimmingCharacters(in: .newlines)) }
        }
    }

    /// PTRACE_SEIZE and PTRACE_INTERRUPT, awaited. A thread may have ended meanwhile (ESRCH).
    private static let holding = """
        import ctypes, os, signal, sys
        ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        for thread in map(int, sys.argv[1:]):
            if ptrace(0x4206, thread, None, None) != 0:
                if ctypes.get_errno() == 3: continue
                sys.exit(os.strerror(ctypes.get_errno()))
            ptrace(0x4207, thread, None, None)
            os.waitpid(thread, 0x40000000)
        print("stopped", flush=True)
        signal.pause()
        """
}
