import CLibevent
import CLinux

/// A named, joinable POSIX thread. Only the threads that existed before receive signals: a spawned
/// thread blocks all but those that report its own faults.
@safe
public final class Thread {
    private let id: pthread_t
    private var isJoined = false

    private init(id: pthread_t) { self.id = id }

    deinit {
        if !isJoined { pthread_detach(id) }
    }

    /// Starts `body` on a new thread. `name` is cut to the 15 bytes that the kernel keeps; with
    /// `processor` the thread runs on that processor only, if the system allows it.
    public static func spawn(
        name: String, processor: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(IOError) -> Thread {
        let start = unsafe Unmanaged.passRetained(
            ThreadStart(name: name, processor: processor, body: body))
        var id = pthread_t()
        let status = unsafe pthread_create(&id, nil, threadBegins, start.toOpaque())
        guard status == 0 else {
            unsafe start.release()
            throw IOError("thread \(name)", errno: status)
        }
        return Thread(id: id)
    }

    /// Starts a thread that first makes, with `prepare`, what `body` is given, and waits until it
    /// has. An error of `prepare` is thrown on; the thread has then ended.
    ///
    /// So the caller knows that the thread works, although the prepared values never leave that
    /// thread.
    public static func spawn<Prepared>(
        name: String, preparing prepare: @escaping @Sendable () throws -> Prepared,
        _ body: @escaping @Sendable (Prepared) -> Void
    ) throws -> Thread {
        let preparation = Preparation(prepare)
        let thread = try spawn(name: name) {
            let prepared: Prepared
            do { prepared = try preparation.make() } catch {
                return preparation.end(.failure(error))
            }
            preparation.end(.success(()))
            body(prepared)
        }
        do { try preparation.wait() } catch {
            thread.join()
            throw error
        }
        return thread
    }

    /// Waits for the thread's end. Called once, from another thread.
    public func join() {
        precondition(!isJoined, "a thread is joined once")
        isJoined = true
        let status = pthread_join(id, nil)
        precondition(status == 0, "pthread_join: \(IOError.text(errno: status))")
    }
}

extension Thread {
    /// Waits for the thread's end, but no longer than `limit`: it may hang in the kernel, on a file
    /// system that does not answer. False if the thread still runs; it is then left to itself.
    /// Called once, in place of ``join()``.
    @discardableResult
    public func join(within limit: Duration) -> Bool {
        precondition(!isJoined, "a thread is joined once")
        var until = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += time_t(limit.components.seconds)
        guard unsafe pthread_timedjoin_np(id, nil, &until) == 0 else { return false }
        isJoined = true
        return true
    }
}

extension Locked<Thread?> {
    /// Waits for the thread's end, unless another caller waits for it, or has.
    package func join() { withLock { $0.take() }?.join() }
}

/// The result of a thread's preparation, for the thread that started it.
@safe
private final class Preparation<Prepared>: @unchecked Sendable {
    // Neither may move, so they are not stored inline.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let hasEnded = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var result: Result<Void, any Error>?
    /// Used by the new thread alone, and released once it was called: otherwise the objects that it
    /// holds would live as long as the thread.
    private var prepare: (@Sendable () throws -> Prepared)?

    init(_ prepare: @escaping @Sendable () throws -> Prepared) {
        self.prepare = prepare
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe hasEnded.initialize(to: pthread_cond_t())
        // Without attributes neither can fail.
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(hasEnded, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(hasEnded)
        unsafe pthread_mutex_destroy(mutex)
        unsafe hasEnded.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs the preparation. Called once.
    func make() throws -> Prepared {
        guard let prepare = prepare.take() else { preconditionFailure("prepared twice") }
        return try prepare()
    }

    func end(_ result: Result<Void, any Error>) {
        unsafe pthread_mutex_lock(mutex)
        self.result = result
        unsafe pthread_cond_signal(hasEnded)
        unsafe pthread_mutex_unlock(mutex)
    }

    func wait() throws {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result { return try result.get() }
            unsafe pthread_cond_wait(hasEnded, mutex)
        }
    }
}

private final class ThreadStart {
    let name: String
    let processor: Int?
    let body: @Sendable () -> Void

    init(name: String, processor: Int?, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.processor = processor
        self.body = body
    }

    func run() {
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF] {
            unsafe sigdelset(&signals, signal)
        }
        unsafe pthread_sigmask(SIG_SETMASK, &signals, nil)
        unsafe sallyport_name_thread(String(decoding: name.utf8.prefix(15), as: UTF8.self))
        // A missing or forbidden processor costs only speed.
        if let processor { _ = sallyport_bind_to_processor(UInt32(clamping: processor)) }
        body()
    }
}

private func threadBegins(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { preconditionFailure("a thread without a body") }
    unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
