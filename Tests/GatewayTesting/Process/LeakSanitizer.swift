import Foundation

/// LeakSanitizer, where the process runs under AddressSanitizer; nothing elsewhere.
public enum LeakSanitizer {
    private typealias Call = @convention(c) () -> Void

    private static func call(_ name: String) {
        guard let address = dlsym(nil, name) else { return }
        unsafeBitCast(address, to: Call.self)()
    }

    /// Looks now, and not once more at the end of the process. By then OpenSSL has let go of what
    /// it keeps for threads that still run.
    static func look() { call("__lsan_do_leak_check") }

    /// Whether or not what this thread allocates meanwhile gets lost, nothing is said.
    public static func unheard<Value>(_ body: () throws -> Value) rethrows -> Value {
        call("__lsan_disable")
        defer { call("__lsan_enable") }
        return try body()
    }
}
