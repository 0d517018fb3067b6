public import Bytes
import CLibevent
import CLinux

/// Requests of a process to the system that it runs on.
public enum HostSystem {
    public static var processID: Int32 { getpid() }

    /// The number of processors that may be used now.
    public static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The identifier of the system's present boot; nil if the system does not tell.
    public static var bootID: Bytes16? {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let text = try? File.read(path, byteCountMax: 64) else { return nil }
        let digits = text.filter { Hex.value($0) != nil }
        return Hex.decode(String(decoding: digits, as: UTF8.self)).flatMap { Bytes16($0.span) }
    }

    public static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// The directory that relative paths begin at; empty if it is gone.
    public static var workingDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// Pauses the calling thread.
    public static func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }

    /// Reads an environment variable and removes it. Not safe beside other threads that read the
    /// environment.
    public static func takeEnvironment(_ name: String) -> String? {
        defer { unsafe unsetenv(name) }
        return environment(name)
    }

    /// The number that every open descriptor stays below (RLIMIT_NOFILE).
    public static var descriptorLimit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 0
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Opens /dev/null in place of each standard stream that is closed at the start. Otherwise a
    /// socket would get its number, and lines for a log would be sent through it. To be called
    /// before anything else is opened; false if it cannot be done.
    public static func completeStandardStreams() -> Bool {
        for descriptor in STDIN_FILENO...STDERR_FILENO where sallyport_is_open(descriptor) == 0 {
            guard unsafe sallyport_open("/dev/null", O_RDWR, 0) == descriptor else { return false }
        }
        return true
    }

    /// Raises the number of descriptors to the hard limit; returns the number in force.
    public static func raiseDescriptorLimit() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 0
        }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 {
                limit = raised
            }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Keeps what is in memory out of core dumps, also of those that are piped to a program, and
    /// out of the reach of other processes of the same user (PR_SET_DUMPABLE). Changes nothing if
    /// the limit of core files (RLIMIT_CORE) is not 0, because then core dumps are wanted.
    public static func forbidUnwantedDumps() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur == 0 else { return }
        // No kernel refuses this.
        _ = sallyport_forbid_dumps()
    }

    /// Ends the process without running deinitialisers.
    public static func exit(_ code: Int32) -> Never { CLinux.exit(code) }
}
