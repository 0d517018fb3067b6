/// The memory that the run of one input asks the allocator for. AddressSanitizer reports each
/// allocation. Memory that is freed meanwhile counts too, because asking for it took time.
enum Allocations {
    // The hook runs inside the allocator: it touches these numbers and nothing else.
    nonisolated(unsafe) fileprivate static var counting = false
    nonisolated(unsafe) fileprivate static var byteCount = 0

    /// How many bytes `body` asked for.
    static func measure(_ body: () throws -> Void) rethrows -> Int {
        byteCount = 0
        counting = true
        defer { counting = false }
        try body()
        return byteCount
    }
}

/// `sanitizer/allocator_interface.h`: the sanitizer calls it after each allocation.
@c(__sanitizer_malloc_hook)
public func didAllocate(_ memory: UnsafeRawPointer?, _ byteCount: Int) {
    guard Allocations.counting else { return }
    Allocations.byteCount &+= byteCount
}
