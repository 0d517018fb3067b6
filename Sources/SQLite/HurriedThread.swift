import Glibc
import Synchronization

/// The restrictions of the calling thread, and the results of its reads.
struct Hurry {
    /// True if the thread must wait neither for a disk nor for another connection. Otherwise it
    /// only leaves the marks of the log's index alone for as long as it gets on without them.
    var isUrgent: Bool
    /// True if an urgent read failed because it would have had to wait.
    var isCutShort = false
    /// True if the system cannot read without waiting, or not in this file system.
    var isUnsupported = false
    /// True if a read that is not urgent could not go on without a mark.
    var needsMark = false

    /// True if marks are left alone.
    var sparesMarks: Bool { isUrgent || !needsMark }
}

/// Threads that must not wait, and threads that should rather not.
enum HurriedThread {
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    static var canBeMarked: Bool { key != nil }

    /// Runs `body` on the calling thread, marked with `hurry`. Nil if it cannot be marked, or is
    /// marked already.
    static func mark<Value>(_ hurry: inout Hurry, _ body: () -> Value) -> Value? {
        guard unsafe current == nil else { return nil }
        return unsafe withUnsafeMutablePointer(to: &hurry) {
            guard unsafe set($0) else { return nil }
            defer { _ = unsafe set(nil) }
            return body()
        }
    }

    private static func set(_ hurry: UnsafeMutablePointer<Hurry>?) -> Bool {
        guard let key else { return false }
        return unsafe pthread_setspecific(key, hurry) == 0
    }

    /// The mark of the calling thread; nil if it may wait.
    static var current: UnsafeMutablePointer<Hurry>? {
        guard let key else { return nil }
        return unsafe pthread_getspecific(key)?.assumingMemoryBound(to: Hurry.self)
    }
}

/// Keeps urgent readers and the growth of a log's index apart.
///
/// SQLite writes to the file of the index to make it longer, while it holds the mutex that each
/// lock in the index takes. That write may wait for the disk or for a file system that is frozen,
/// so no urgent reader may be on its way to the mutex then.
enum IndexGrowth {
    private static let urgentCount = Atomic(0)
    private static let growingCount = Atomic(0)

    /// False if an index is growing. Otherwise ``leave()`` has to follow.
    static func enter() -> Bool {
        urgentCount.add(1, ordering: .sequentiallyConsistent)
        if growingCount.load(ordering: .sequentiallyConsistent) == 0 { return true }
        leave()
        return false
    }

    static func leave() { urgentCount.subtract(1, ordering: .sequentiallyConsistent) }

    /// Runs `body` when the urgent readers have left, which takes microseconds.
    static func run(_ body: () -> Int32) -> Int32 {
        growingCount.add(1, ordering: .sequentiallyConsistent)
        defer { growingCount.subtract(1, ordering: .sequentiallyConsistent) }
        while urgentCount.load(ordering: .sequentiallyConsistent) != 0 { sched_yield() }
        return body()
    }
}
