import EventLoop
import Synchronization

/// The threads that own the files of bodies, for all workers. A file system that is frozen or slow
/// stops these threads, and no worker.
///
/// Each directory has threads of its own, so that a reload can replace a directory that is stuck. A
/// thread is started when it is first needed. Its end is not waited for, because it may hang in the
/// kernel until a disk answers.
final class BodyFileThreads: Sendable {
    private let directories = Locked<[String: BodyFileDirectory]>([:])

    /// The threads for files in `path`.
    func directory(_ path: String) -> BodyFileDirectory {
        directories.withLock { directories in
            if let known = directories[path] { return known }
            let directory = BodyFileDirectory(path)
            directories[path] = directory
            return directory
        }
    }

    /// Has each thread end after the jobs that it has got.
    func end() {
        for directory in directories.withLock({ $0.values }) { directory.end() }
    }
}

/// The threads for the files of one directory.
final class BodyFileDirectory: Sendable {
    typealias Job = @Sendable () -> Void

    private enum Order: Sendable {
        case run(Job)
        case end
    }

    /// The queue of one thread. All jobs of a file go to the same queue, which keeps their order.
    struct Queue: Sendable {
        private let mailbox: Mailbox<Order>

        fileprivate init(_ number: Int) throws {
            // A body has at most one job and its end here, so that the queue is never full.
            let mailbox = try Mailbox<Order>(countMax: 1 << 20)
            self.mailbox = mailbox
            _ = try Thread.spawn(name: "bodies-\(number)", preparing: { try EventLoop() }) { loop in
                let receiver = mailbox.attach(to: loop) { order in
                    switch order {
                    case .run(let job): job()
                    case .end: loop.stop()
                    }
                }
                loop.run()
                receiver.close()
            }
        }

        /// Posts a job. False if the thread has ended.
        func post(_ job: @escaping Job) -> Bool { mailbox.post(.run(job)) }

        fileprivate func end() { _ = mailbox.post(.end) }
    }

    private struct Queues {
        var all: [Queue] = []
        var lastNumber = 0
    }

    let path: String
    private let queues = Locked(Queues())
    private let lateCount = Atomic(0)

    /// The number of threads. More would not help: the writes to one slow disk wait for each other
    /// anyway.
    private static let threadCount = 4

    init(_ path: String) { self.path = path }

    /// The queue of a new file. Throws if a thread could not be made.
    func queue() throws(IOError) -> Queue {
        do {
            return try queues.withLock { queues in
                queues.lastNumber += 1
                let index = queues.lastNumber % Self.threadCount
                while queues.all.count <= index { queues.all.append(try Queue(queues.all.count)) }
                return queues.all[index]
            }
        } catch {
            throw error as? IOError ?? IOError(path, .busy)
        }
    }

    /// True if a job that took too long is still under way. Until it ends no file is made here.
    var isStuck: Bool { lateCount.load(ordering: .relaxed) > 0 }

    func jobIsLate() { lateCount.wrappingAdd(1, ordering: .relaxed) }

    func lateJobEnded() { lateCount.wrappingSubtract(1, ordering: .relaxed) }

    fileprivate func end() { for queue in queues.withLock({ $0.all }) { queue.end() } }
}
