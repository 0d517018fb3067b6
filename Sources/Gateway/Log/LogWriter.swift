import Background
import Bytes
import EventLoop
import JSON
import Settings
import Synchronization

/// Writes finished log lines to one destination, on a thread of its own: a slow disk or a stopped
/// reader of our pipe never holds a worker.
final class LogWriter: @unchecked Sendable {
    private enum Message: Sendable {
        case lines(LogBatch)
        /// With whom to tell what came of it.
        case reopen(done: @Sendable (IOError?) -> Void)
        case close
    }

    /// The counts by which workers and the log's thread inform each other.
    private final class Tally: Sendable {
        let queuedByteCount = Atomic(0)
        let queuedBatchCount = Atomic(0)
        let droppedLineCount = Atomic<UInt64>(0)
        let isClosing = Atomic(false)
        let reopeningCount = Atomic(0)

        /// Whether something waits for the end that lines are written to.
        var isAwaited: Bool {
            isClosing.load(ordering: .relaxed) || reopeningCount.load(ordering: .relaxed) > 0
        }

        /// Whether a batch may wait, and has its place.
        func enter(byteCount: Int) -> Bool {
            let bytes = queuedByteCount.wrappingAdd(byteCount, ordering: .relaxed).newValue
            let batches = queuedBatchCount.wrappingAdd(1, ordering: .relaxed).newValue
            guard bytes <= LogWriter.queueByteCountMax, batches <= LogWriter.queueCountMax else {
                leave(byteCount: byteCount)
                return false
            }
            return true
        }

        func leave(byteCount: Int) {
            queuedByteCount.wrappingSubtract(byteCount, ordering: .relaxed)
            queuedBatchCount.wrappingSubtract(1, ordering: .relaxed)
        }

        func drop(_ lineCount: Int) {
            guard lineCount > 0 else { return }
            droppedLineCount.wrappingAdd(UInt64(lineCount), ordering: .relaxed)
        }
    }

    private let mailbox: Mailbox<Message>
    private let tally: Tally
    private let batches: LogBatches
    /// Used only by the control thread, which makes and closes the writer.
    private let thread: Thread

    /// Opens the destination, or returns nil for `off`.
    init?(_ destination: LogSettings.Destination) throws {
        let (descriptor, isOwn): (Int32, Bool)
        switch destination {
        case .off: return nil
        case .standardOutput: (descriptor, isOwn) = Self.open(File.standardOutput)
        case .standardError: (descriptor, isOwn) = Self.open(File.standardError)
        case .file(let path): (descriptor, isOwn) = (try File.openAppending(path).release(), true)
        }
        let mailbox = try Mailbox<Message>(
            countMax: Self.queueCountMax + Self.commandCountMax)
        let tally = Tally()
        let batches = LogBatches()
        self.mailbox = mailbox
        self.tally = tally
        self.batches = batches
        thread = try Thread.spawn(name: "log", preparing: { try EventLoop() }) { loop in
            var end = LogEnd(descriptor: descriptor)
            let receiver = mailbox.attach(to: loop) { message in
                switch message {
                case .lines(let batch):
                    let isLast = tally.isAwaited
                    tally.drop(end.write(batch.lines, isLast: isLast))
                    tally.leave(byteCount: batch.lines.count)
                    batches.giveBack(batch)
                case .reopen(let done):
                    tally.reopeningCount.wrappingSubtract(1, ordering: .relaxed)
                    tally.drop(LogWriter.reopen(destination, &end, done: done))
                case .close: loop.stop()
                }
            }
            loop.run()
            receiver.close()
            tally.drop(end.end(isOwn: isOwn))
        }
    }

    /// A standard stream. Where its writes wait, for a reader who may have stopped, it is opened
    /// again for us alone if it can be.
    private static func open(_ stream: Int32) -> (descriptor: Int32, isOwn: Bool) {
        guard File.end(stream) == .waiting, let again = File.openAgain(stream) else {
            return (stream, false)
        }
        return (again.release(), true)
    }

    /// Lines that were thrown away because the destination was too slow, or took none.
    var droppedLineCount: UInt64 { tally.droppedLineCount.load(ordering: .relaxed) }

    /// Takes whole lines, to be written in the order of the calls of one thread.
    func post(_ lines: Span<UInt8>) {
        if tally.enter(byteCount: lines.count) {
            if mailbox.post(.lines(batches.batch(of: lines))) { return }
            tally.leave(byteCount: lines.count)
        }
        tally.drop(lines.indices.count { lines[$0] == UInt8(ascii: "\n") })
    }

    /// Waits until everything that was posted is written, or a second is over: before something
    /// that may end the process.
    func awaitWritten() {
        for _ in 0..<Self.awaitedMilliseconds {
            guard tally.queuedBatchCount.load(ordering: .relaxed) > 0 else { return }
            HostSystem.pause(milliseconds: 1)
        }
    }

    /// Opens a file by its name again, after what was posted: the old one was moved away. `done`
    /// runs on the log's thread, with why it could not be opened; nil also where there is no file.
    /// It runs here if too many such calls wait already, which open the file as well.
    func reopen(done: @escaping @Sendable (IOError?) -> Void) {
        tally.reopeningCount.wrappingAdd(1, ordering: .relaxed)
        guard !mailbox.post(.reopen(done: done)) else { return }
        tally.reopeningCount.wrappingSubtract(1, ordering: .relaxed)
        done(IOError("log", .busy))
    }

    /// Writes what was posted, then ends the thread. A file system that does not answer is not
    /// waited for.
    func close() {
        tally.isClosing.store(true, ordering: .relaxed)
        if mailbox.post(.close) { thread.join(within: Self.farewell) }
    }

    /// Opens the file again; if that fails, the old file is written on. Returns the number of lost
    /// lines.
    private static func reopen(
        _ destination: LogSettings.Destination, _ end: inout LogEnd,
        done: (IOError?) -> Void
    ) -> Int {
        guard case .file(let path) = destination else {
            done(nil)
            return 0
        }
        do throws(IOError) {
            let lostLineCount = end.move(to: try File.openAppending(path).release())
            done(nil)
            return lostLineCount
        } catch {
            done(error)
            return 0
        }
    }

    private static let awaitedMilliseconds = 1000
    /// What was posted goes to a slow disk in less.
    private static let farewell = Duration.seconds(10)
    /// Batches, each the lines of one turn of a worker's loop.
    static let queueCountMax = 4096
    /// The most commands in the queue. They have room of their own, so that a slow disk does not
    /// make them be lost.
    static let commandCountMax = 8
    /// All of them together: more than a second of 50,000 lines a second.
    static let queueByteCountMax = 32 * 1024 * 1024
}

/// The two logs: accesses, and events of the gateway itself.
final class LogWriters: EventLog {
    let access: LogWriter?
    let events: LogWriter?
    private let throttle = Locked(EventThrottle())
    /// The last message of each event. The code has some dozens of events.
    private let lastMessages = Locked<[String: String]>([:])
    private let lastReopenFailure = Locked<IOError?>(nil)

    init(_ settings: LogSettings) throws {
        access = try LogWriter(settings.access)
        events =
            settings.events == settings.access ? access : try LogWriter(settings.events)
    }

    /// Logs an event, unless too many of its kind were logged in the last minute.
    func event(level: StaticString, _ name: StaticString, _ message: String) {
        lastMessages.withLock { $0[name.description] = message }
        let now = MonotonicInstant.now()
        guard throttle.withLock({ $0.admits(name.description, at: now) }) else { return }
        write(level: level, name, message)
    }

    func leftOut(_ name: StaticString, isOwed: Bool) {
        let now = MonotonicInstant.now()
        throttle.withLock {
            if isOwed { $0.leaveOut(name.description, at: now) } else { $0.count(name.description) }
        }
    }

    /// The last message of the event of that name; nil if there was none.
    func lastMessage(of name: String) -> String? { lastMessages.withLock { $0[name] } }

    /// How often each event came, written or left out.
    var eventCounts: [String: UInt64] { throttle.withLock { $0.counts } }

    /// Says how many events were left out in the minutes that are over. To be called now and then.
    func tellLeftOut(at now: MonotonicInstant) {
        for (name, count) in throttle.withLock({ $0.takeLeftOut(at: now) }) {
            write(
                level: "warning", "events_left_out",
                "\(count) more of \(name) came within a minute")
        }
    }

    private func write(level: StaticString, _ name: StaticString, _ message: String) {
        guard let events else { return }
        let now = WallClock.now()
        var time = ByteBuffer(capacity: 32)
        WallClock.appendTimestamp(seconds: now.seconds, nanoseconds: now.nanoseconds, to: &time)
        var line = JSONWriter()
        line.beginObject()
        line.member("time", bytes: time.readable)
        line.member("level", constant: level)
        line.member("event", constant: name)
        line.member("message", string: message)
        line.endObject()
        line.raw("\n")
        let bytes = line.finish()
        events.post(bytes.readable)
    }

    /// A store has gone, and why, or is back.
    func storeEvent(_ store: StaticString, isUp: Bool, _ reason: String) {
        if isUp {
            event(level: "info", "store_up", "\(store): answering again")
        } else {
            event(level: "error", "store_down", "\(store): not answering: \(reason)")
        }
    }

    /// Opens the files again after a rotation.
    ///
    /// - Parameter tellsSuccess: an event says when all of them are open. Failures always have one.
    func reopen(tellsSuccess: Bool) {
        let writers = [access, events === access ? nil : events].compactMap(\.self)
        let reopening = Locked(LogReopening(waitingCount: writers.count))
        for writer in writers {
            writer.reopen { [self] error in
                if let error {
                    // Set before the event is written, so that a reader of the event finds it
                    // here.
                    lastReopenFailure.withLock { $0 = error }
                    event(
                        level: "error", "log_reopen_failed", "the old file is written on: \(error)")
                }
                guard let end = reopening.withLock({ $0.done(error) }) else { return }
                lastReopenFailure.withLock { $0 = end.failure }
                guard end.failure == nil, tellsSuccess else { return }
                event(level: "info", "logs_reopened", "by the files' names")
            }
        }
    }

    /// Why a file could not be opened at the last rotation; nil if all could.
    var reopenFailure: IOError? { lastReopenFailure.withLock { $0 } }

    func close() {
        access?.close()
        if events !== access { events?.close() }
    }
}
