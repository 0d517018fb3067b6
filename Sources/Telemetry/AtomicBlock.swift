import Synchronization

/// A row of atomic words on the heap, written by one thread and read by any.
///
/// With one writer, adding is a relaxed load and a relaxed store: there is no locked instruction on
/// the request path, and no reader ever sees a torn number.
@safe
struct AtomicBlock: ~Copyable, @unchecked Sendable {
    let count: Int
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// Two blocks never share a cache line, so that workers do not slow each other down.
    private static let cacheLineByteCount = 64

    init(count: Int) {
        precondition(count > 0)
        self.count = count
        let stride = MemoryLayout<Atomic<UInt64>>.stride
        let lines = (count * stride + Self.cacheLineByteCount - 1) / Self.cacheLineByteCount
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: lines * Self.cacheLineByteCount, alignment: Self.cacheLineByteCount)
        unsafe words = unsafe memory.bindMemory(to: Atomic<UInt64>.self, capacity: count)
        for index in 0..<count { unsafe (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe words.deinitialize(count: count)
        unsafe UnsafeMutableRawPointer(words).deallocate()
    }

    /// Adds to an amount. Only the writing thread may do so.
    func add(_ amount: UInt64, at index: Int) {
        precondition(index >= 0 && index < count)
        let word = unsafe words[index].load(ordering: .relaxed)
        unsafe words[index].store(word &+ amount, ordering: .relaxed)
    }

    /// Sets an amount. Only the writing thread may do so.
    func set(_ value: UInt64, at index: Int) {
        precondition(index >= 0 && index < count)
        unsafe words[index].store(value, ordering: .relaxed)
    }

    func value(at index: Int) -> UInt64 {
        precondition(index >= 0 && index < count)
        return unsafe words[index].load(ordering: .relaxed)
    }
}
