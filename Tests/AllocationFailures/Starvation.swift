import COpenSSL
import Glibc

/// The allocator of the libraries, which counts and fails when it is told to. One thread at a time.
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

        var isOfThisRun: Bool { run == Starvation.run }
    }

    nonisolated(unsafe) private static var plan = Plan.none
    nonisolated(unsafe) private static var library = Library.openSSL
    nonisolated(unsafe) private static var isSated = false
    nonisolated(unsafe) private static var run = 0
    nonisolated(unsafe) private static var live: [UnsafeMutableRawPointer: Holding] = [:]
    /// The library's allocations since ``arm(_:_:)``.
    nonisolated(unsafe) private(set) static var count = 0
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
        count = 0
        run += 1
        failed = nil
        self.library = library
        self.plan = plan
    }

    static func disarm() { plan = .none }

    static var isArmed: Bool {
        if case .none = plan { false } else { true }
    }

    /// Runs `body` with enough memory: a look at what came of an operation, or a step that ends the
    /// process without memory, by design.
    static func sated<Value: ~Copyable>(_ body: () throws -> Value) rethrows -> Value {
        isSated = true
        defer { isSated = false }
        return try body()
    }

    /// How much is allocated, but for the texts that the error queue keeps for its next errors.
    static var heldCount: Int { live.count }

    /// Who asked for what was allocated since ``arm(_:_:)`` and is still held.
    static var heldSites: [Site] {
        live.values.filter { $0.isOfThisRun }.map(\.site)
    }

    private static func hold(_ memory: UnsafeMutableRawPointer, _ site: Site) {
        if case .line(let file?, _) = site, strstr(file, "crypto/err/") != nil { return }
        live[memory] = Holding(site: site, run: run)
    }

    private static func fails(_ site: Site) -> Bool {
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

    fileprivate static func allocate(_ size: Int, _ site: Site) -> UnsafeMutableRawPointer? {
        guard !fails(site), let memory = malloc(max(1, size)) else { return nil }
        hold(memory, site)
        return memory
    }

    fileprivate static func reallocate(
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

    fileprivate static func release(_ memory: UnsafeMutableRawPointer?) {
        guard let memory else { return }
        live[memory] = nil
        free(memory)
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
