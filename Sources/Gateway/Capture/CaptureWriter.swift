import Background
import EventLoop
import Settings
import Synchronization

/// Keeps what was refused (`capture`), on a thread of its own: no worker waits for the disk, and
/// nothing depends on whether it works.
final class CaptureWriter: @unchecked Sendable {
    private enum Message: Sendable {
        case keep(CapturedRefusal, CaptureSettings)
        case close
    }

    /// How many were admitted in which second.
    private struct Pace {
        var second: UInt64 = 0
        var count = 0
    }

    private let mailbox: Mailbox<Message>
    private let pace = Locked(Pace())
    private let queued: QueuedCount
    /// Touched by whoever makes and closes the writer only, which is the control thread.
    private let thread: Thread

    /// Strangers bring about as many as they like; a few a second show every cause.
    static let countPerSecondMax = 10
    /// Those of some seconds in which the disk takes nothing.
    private static let queueCountMax = 64

    /// What waits for the thread.
    private final class QueuedCount: Sendable {
        let value = Atomic(0)
    }

    init(log: LogWriters) throws {
        // One place is for the end.
        let mailbox = try Mailbox<Message>(countMax: Self.queueCountMax + 1)
        let queued = QueuedCount()
        self.mailbox = mailbox
        self.queued = queued
        thread = try Thread.spawn(name: "capture", preparing: { try EventLoop() }) { loop in
            var keeper = Keeper(log: log)
            let receiver = mailbox.attach(to: loop) { message in
                switch message {
                case .keep(let refusal, let settings):
                    keeper.keep(refusal, settings)
                    queued.value.wrappingSubtract(1, ordering: .relaxed)
                case .close: loop.stop()
                }
            }
            loop.run()
            receiver.close()
        }
    }

    /// Whether another one may be kept now; to be asked before anything is copied for it.
    func admits(at now: MonotonicInstant) -> Bool {
        let second = now.nanoseconds / 1_000_000_000
        return pace.withLock { pace in
            if pace.second != second { pace = Pace(second: second) }
            pace.count += 1
            return pace.count <= Self.countPerSecondMax
        }
    }

    /// Has it written, unless the thread is far behind. Never waits.
    func keep(_ refusal: CapturedRefusal, _ settings: CaptureSettings) {
        let count = queued.value.wrappingAdd(1, ordering: .relaxed).newValue
        if count <= Self.queueCountMax, mailbox.post(.keep(refusal, settings)) { return }
        queued.value.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Writes what was taken, then ends the thread.
    func close() {
        if mailbox.post(.close) { thread.join() }
    }

    /// What the thread does.
    private struct Keeper {
        let log: LogWriters
        private var directory: CaptureDirectory?
        private var repeated = RepeatedEvents()

        init(log: LogWriters) { self.log = log }

        mutating func keep(_ refusal: CapturedRefusal, _ settings: CaptureSettings) {
            do throws(IOError) {
                if directory?.settings != settings {
                    directory = nil
                    directory = try CaptureDirectory(settings)
                }
                try directory?.keep(refusal.fileName, refusal.json)
            } catch {
                // It may have been removed, and may be there again by the next one.
                directory = nil
                let text = "a refused request was not kept: \(error)"
                guard let text = repeated.text(text, at: MonotonicInstant.now()) else {
                    return log.leftOut("capture_failed")
                }
                log.event(level: "warning", "capture_failed", text)
            }
        }
    }
}
