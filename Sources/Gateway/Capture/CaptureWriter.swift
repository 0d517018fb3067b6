import Background
import EventLoop
import Settings
import Synchronization

/// Keeps refused requests (`capture`) on a thread of its own: no worker waits for the disk, and
/// nothing depends on whether writing works.
final class CaptureWriter: @unchecked Sendable {
    private enum Message: Sendable {
        case begin(CaptureSettings)
        case keep(CapturedRefusal, CaptureSettings)
        case close
    }

    /// The number of refusals that were admitted in the current second.
    private struct Pace {
        var second: UInt64 = 0
        var count = 0
    }

    private let mailbox: Mailbox<Message>
    private let pace = Locked(Pace())
    private let queued: QueuedCount
    let counts: CaptureCounts
    /// Used only by the control thread, which makes and closes the writer.
    private let thread: Thread

    /// The most refusals of a second. Strangers can cause any number; a few show every cause.
    static let countPerSecondMax = 10
    /// The most refusals that wait: those of some seconds in which the disk takes nothing.
    private static let queueCountMax = 64

    /// The number of refusals that wait for the thread.
    private final class QueuedCount: Sendable {
        let value = Atomic(0)
    }

    init(log: LogWriters) throws {
        // Some places are for configurations and for the end.
        let mailbox = try Mailbox<Message>(countMax: Self.queueCountMax + 8)
        let queued = QueuedCount()
        let counts = CaptureCounts()
        self.counts = counts
        self.mailbox = mailbox
        self.queued = queued
        thread = try Thread.spawn(name: "capture", preparing: { try EventLoop() }) { loop in
            var keeper = Keeper(log: log, counts: counts)
            let receiver = mailbox.attach(to: loop) { message in
                switch message {
                case .begin(let settings): keeper.begin(settings)
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

    /// True if another refusal may be kept now. To be asked before anything is copied for it.
    func admits(at now: MonotonicInstant) -> Bool {
        let second = now.nanoseconds / 1_000_000_000
        let isAdmitted = pace.withLock { pace in
            if pace.second != second { pace = Pace(second: second) }
            pace.count += 1
            return pace.count <= Self.countPerSecondMax
        }
        if !isAdmitted { counts.add(.skipped) }
        return isAdmitted
    }

    /// Has the directory opened, and the event log told if refusals are kept there from now on.
    /// Never waits; a thread that is far behind has other problems to report.
    func begin(_ settings: CaptureSettings) { _ = mailbox.post(.begin(settings)) }

    /// Has the refusal written, unless the thread is far behind. Never waits.
    func keep(_ refusal: CapturedRefusal, _ settings: CaptureSettings) {
        let count = queued.value.wrappingAdd(1, ordering: .relaxed).newValue
        if count <= Self.queueCountMax, mailbox.post(.keep(refusal, settings)) { return }
        counts.add(.skipped)
        queued.value.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Writes the refusals that were taken, then ends the thread. A file system that does not
    /// answer is not waited for.
    func close() {
        if mailbox.post(.close) { thread.join(within: .seconds(10)) }
    }

    /// The work of the thread.
    private struct Keeper {
        let log: LogWriters
        let counts: CaptureCounts
        private var directory: CaptureDirectory?
        private var repeated = RepeatedEvents()

        init(log: LogWriters, counts: CaptureCounts) {
            self.log = log
            self.counts = counts
        }

        mutating func begin(_ settings: CaptureSettings) {
            // Also a directory that was opened long ago, so that its present state is read.
            directory = nil
            do throws(IOError) {
                try open(settings)
                log.event(
                    level: "warning", "capture",
                    "attestations, assertions and signed data of refused requests are kept in "
                        + settings.directory)
            } catch {
                tell("no refused request is kept: \(error)")
            }
        }

        mutating func keep(_ refusal: CapturedRefusal, _ settings: CaptureSettings) {
            do throws(IOError) {
                try open(settings)
                let isKept = try directory?.keep(refusal.fileName, refusal.json) ?? false
                counts.add(isKept ? .kept : .skipped)
            } catch {
                // The directory may have been removed, and may be there again by the next refusal.
                directory = nil
                counts.add(.failed)
                tell("a refused request was not kept: \(error)")
            }
        }

        private mutating func open(_ settings: CaptureSettings) throws(IOError) {
            guard directory?.settings != settings else { return }
            directory = nil
            directory = try CaptureDirectory(settings)
        }

        private mutating func tell(_ text: String) {
            let turn = repeated.turn("capture_failed", text, at: MonotonicInstant.now())
            log.event(level: "warning", "capture_failed", turn)
        }
    }
}
