import COpenSSL
import Glibc

/// The allocator of the libraries, which counts and fails when it is told to. A library may call
/// it from any of its threads: libcurl resolves on one, if it has no memory for an address that it
/// could read by itself.
enum Starvation {
    /// Which allocations of a library fail from the moment of ``arm(_:_:)`` on.
    enum Plan {
        case none
        /// The one of that number, counted from 1.
        case once(Int)
        /// That one and all after it.
        case onward(Int)
    }

    private struct Holding {
        let site: Site
        let run: Int
    }

    private struct Ledger {
        var plan = Plan.none
        var library = Library.openSSL
        var isSated = false
        var run = 0
        var live: [UnsafeMutableRawPointer: Holding] = [:]
        var count = 0

        mutating func hold(_ memory: UnsafeMutableRawPointer, _ site: Site) {
            if case .line(let file?, _) = site, strstr(file, "crypto/err/") != nil { return }
            live[memory] = Holding(site: site, run: run)
        }

        mutating func fails(_ site: Site) -> Bool {
            guard !isSated, site.library == library else { return false }
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
    }

    nonisolated(unsafe) private static var ledger = Ledger()
    /// Swift's `Mutex` knows a thread by its number, which is another after a fork.
    nonisolated(unsafe) private static let mutex: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        return mutex
    }()

    /// `body` must not call a library.
    private static func withLedger<Value>(_ body: (inout Ledger) -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&ledger)
    }

    /// The library's allocations since ``arm(_:_:)``.
    static var count: Int { withLedger { $0.count } }
    /// The first that failed since ``arm(_:_:)``. The memory is shared with the processes that
    /// this one forks, so that a crash of theirs has a place.
    static var failed: Site? {
        get { failedSite.pointee }
        set { failedSite.pointee = newValue }
    }
    nonisolated(unsafe) private static let failedSite: UnsafeMutablePointer<Site?> = {
        let memory = mmap(
            nil, MemoryLayout<Site?>.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0
        )
        guard let memory, Int(bitPattern: memory) != -1 else { fatalError("no shared memory") }
        let site = memory.bindMemory(to: Site?.self, capacity: 1)
        site.initialize(to: nil)
        return site
    }()

    /// Puts itself in place of malloc; to be called before OpenSSL first allocates.
    static func install() {
        let status = CRYPTO_set_mem_functions(
            { size, file, line in
                size > 0 ? Starvation.allocate(size, .line(file: file, number: line)) : nil
            },
            { memory, size, file, line in
                Starvation.reallocate(memory, size, .line(file: file, number: line))
            },
            { memory, _, _ in Starvation.release(memory) })
        precondition(status == 1, "OpenSSL has allocated before its allocator was replaced")
        Library.replaceAllocators()
    }

    static func arm(_ plan: Plan, _ library: Library) {
        failed = nil
        withLedger {
            $0.count = 0
            $0.run += 1
            $0.library = library
            $0.plan = plan
        }
    }

    static func disarm() { withLedger { $0.plan = .none } }

    static var isArmed: Bool {
        withLedger { if case .none = $0.plan { false } else { true } }
    }

    /// Runs `body` with enough memory: a look at what came of an operation, or a step that ends the
    /// process without memory, by design.
    static func sated<Value: ~Copyable>(_ body: () throws -> Value) rethrows -> Value {
        withLedger { $0.isSated = true }
        defer { withLedger { $0.isSated = false } }
        return try body()
    }

    /// How much is allocated, but for the texts that the error queue keeps for its next errors.
    static var heldCount: Int { withLedger { $0.live.count } }

    /// Who asked for what was allocated since ``arm(_:_:)`` and is still held.
    static var heldSites: [Site] {
        withLedger { ledger in
            ledger.live.values.filter { $0.run == ledger.run }.map(\.site)
        }
    }

    fileprivate static func allocate(_ size: Int, _ site: Site) -> UnsafeMutableRawPointer? {
        withLedger { ledger in
            guard !ledger.fails(site), let memory = malloc(max(1, size)) else { return nil }
            ledger.hold(memory, site)
            return memory
        }
    }

    fileprivate static func reallocate(
        _ old: UnsafeMutableRawPointer?, _ size: Int, _ site: Site
    ) -> UnsafeMutableRawPointer? {
        guard let old else { return allocate(size, site) }
        guard size > 0 else {
            release(old)
            return nil
        }
        return withLedger { ledger in
            guard !ledger.fails(site), let memory = realloc(old, size) else { return nil }
            ledger.live[old] = nil
            ledger.hold(memory, site)
            return memory
        }
    }

    fileprivate static func release(_ memory: UnsafeMutableRawPointer?) {
        guard let memory else { return }
        withLedger {
            $0.live[memory] = nil
            free(memory)
        }
    }
}

// What CImports declares.

@_cdecl("sallyport_import_allocate")
func importAllocate(_ size: Int, _ caller: UnsafeRawPointer?) -> UnsafeMutableRawPointer? {
    Starvation.allocate(size, .place(caller))
}

@_cdecl("sallyport_import_reallocate")
func importReallocate(
    _ memory: UnsafeMutableRawPointer?, _ size: Int, _ caller: UnsafeRawPointer?
) -> UnsafeMutableRawPointer? {
    Starvation.reallocate(memory, size, .place(caller))
}

@_cdecl("sallyport_import_release")
func importRelease(_ memory: UnsafeMutableRawPointer?) { Starvation.release(memory) }
