import COpenSSL
import Glibc

/// OpenSSL's allocator, which counts and fails when it is told to. One thread at a time.
enum Starvation {
    /// Which allocations fail from the moment of ``arm(_:)`` on.
    enum Plan {
        case none
        /// The one of that number, counted from 1.
        case once(Int)
        /// That one and all after it.
        case onward(Int)
    }

    /// The line of OpenSSL that asked for memory.
    struct Site: Hashable, CustomStringConvertible {
        let file: UnsafePointer<CChar>?
        let line: Int32

        var description: String { "\(file.map { String(cString: $0) } ?? "?"):\(line)" }
    }

    private struct Holding {
        let site: Site
        let run: Int

        var isOfThisRun: Bool { run == Starvation.run }
    }

    nonisolated(unsafe) private static var plan = Plan.none
    nonisolated(unsafe) private static var run = 0
    nonisolated(unsafe) private static var live: [UnsafeMutableRawPointer: Holding] = [:]
    /// The allocations since ``arm(_:)``.
    nonisolated(unsafe) private(set) static var count = 0
    /// The first that failed since ``arm(_:)``.
    nonisolated(unsafe) private(set) static var failed: Site?

    /// Puts itself in place of malloc; to be called before OpenSSL first allocates.
    static func install() {
        let status = CRYPTO_set_mem_functions(
            { size, file, line in
                Starvation.allocate(size, Site(file: file, line: line))
            },
            { memory, size, file, line in
                Starvation.reallocate(memory, size, Site(file: file, line: line))
            },
            { memory, _, _ in Starvation.release(memory) })
        precondition(status == 1, "OpenSSL has allocated before its allocator was replaced")
    }

    static func arm(_ plan: Plan) {
        count = 0
        run += 1
        failed = nil
        self.plan = plan
    }

    static func disarm() { plan = .none }

    /// How much is allocated, but for the texts that the error queue keeps for its next errors.
    static var heldCount: Int { live.count }

    /// Who asked for what was allocated since ``arm(_:)`` and is still held.
    static var heldSites: [Site] {
        live.values.filter { $0.isOfThisRun }.map(\.site)
    }

    private static func hold(_ memory: UnsafeMutableRawPointer, _ site: Site) {
        if let file = site.file, strstr(file, "crypto/err/") != nil { return }
        live[memory] = Holding(site: site, run: run)
    }

    private static func fails(_ site: Site) -> Bool {
        count += 1
        let fails =
            switch plan {
            case .none: false
            case .once(let number): count == number
            case .onward(let number): count >= number
            }
        if fails, failed == nil { failed = site }
        return fails
    }

    private static func allocate(_ size: Int, _ site: Site) -> UnsafeMutableRawPointer? {
        guard size > 0, !fails(site), let memory = malloc(size) else { return nil }
        hold(memory, site)
        return memory
    }

    private static func reallocate(
        _ old: UnsafeMutableRawPointer?, _ size: Int, _ site: Site
    ) -> UnsafeMutableRawPointer? {
        guard let old else { return allocate(size, site) }
        guard size > 0 else {
            release(old)
            return nil
        }
        guard !fails(site) else { return nil }
        live[old] = nil
        guard let memory = realloc(old, size) else { return nil }
        hold(memory, site)
        return memory
    }

    private static func release(_ memory: UnsafeMutableRawPointer?) {
        guard let memory else { return }
        live[memory] = nil
        free(memory)
    }
}
