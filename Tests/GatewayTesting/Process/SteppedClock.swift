import Foundation

/// A time of day that a test sets for one process.
///
/// A library that the process loads first adds the seconds that stand in a file to what the clocks
/// of the wall say; others go on as they do.
public final class SteppedClock: Sendable {
    private static let program = """
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static volatile long long *offset;

        __attribute__((constructor)) static void start(void) {
            const char *path = getenv("STEPPED_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *page = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
            close(file);
            if (page != MAP_FAILED) offset = page;
        }

        int clock_gettime(clockid_t clock, struct timespec *now) {
            int status = syscall(SYS_clock_gettime, clock, now);
            int isWall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
            if (status == 0 && offset && isWall) now->tv_sec += *offset;
            return status;
        }

        int gettimeofday(struct timeval *restrict now, void *restrict zone) {
            (void)zone;
            struct timespec precise;
            int status = clock_gettime(CLOCK_REALTIME, &precise);
            now->tv_sec = precise.tv_sec;
            now->tv_usec = precise.tv_nsec / 1000;
            return status;
        }

        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }

        """

    public static let isPossible =
        (try? ChildProcess.run("cc", ["--version"]))?.status == .exited(0)

    /// What a gateway or a server is started with.
    public let launcher: [String]
    private let path: String

    /// The files lie in `directory`.
    public init(_ name: String, in directory: ScratchDirectory) throws {
        let source = try directory.write(Self.program, to: "clock.c")
        let library = directory.path(of: "clock.so")
        let outcome = try ChildProcess.run(
            "cc", ["-shared", "-fPIC", "-O1", "-o", library, source], within: .seconds(60))
        guard outcome.status == .exited(0) else {
            throw ChildProcessError(description: outcome.standardError)
        }
        path = try directory.write([UInt8](repeating: 0, count: 8), to: "clock-\(name)")
        launcher = ["env", "LD_PRELOAD=\(library)", "STEPPED_CLOCK=\(path)"]
    }

    /// How many seconds the process is ahead of everybody else from now on.
    public func set(_ seconds: Int) throws {
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw ChildProcessError(description: "no \(path)")
        }
        try file.write(contentsOf: withUnsafeBytes(of: Int64(seconds)) { Data($0) })
        try file.close()
    }
}
