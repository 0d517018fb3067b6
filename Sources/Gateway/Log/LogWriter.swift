import Background
import Bytes
import EventLoop
import JSON
import Settings
import Synchronization

/// Writes finished log lines to one destination, on a thread of its own: a slow disk or a stopped
/// reader of our pipe never delays a worker.
final class LogWriter: @unchecked Sendable {
    private enum Message: Sendable {
        case lines(LogBatch)
        /// `done` is called with the outcome.
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
        /// When the thread began to use the file that it uses now, in nanoseconds; 0 while it uses
        /// none. A pipe or a terminal is always given up in time.
        let fileUsedSince = Atomic<UInt64>(0)

        /// Runs `use`, which may wait for a file system.
        func whileUsing(file isFile: Bool, _ use: () -> Void) {
            let start = isFile ? MonotonicInstant.now().nanoseconds : 0
            fileUsedSince.store(start, ordering: .relaxed)
            use()
            fileUsedSince.store(0, ordering: .relaxed)
        }

        /// True if something waits for the destination of the lines.
        var isAwaited: Bool {
            isClosing.load(ordering: .relaxed) || reopeningCount.load(ordering: .relaxed) > 0
        }

        /// True if a batch may wait; it then has its place in the queue.
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
                    tally.whileUsing(file: destination.isFile) {
                        tally.drop(end.write(batch.lines, isLast: isLast))
                    }
                    tally.leave(byteCount: batch.lines.count)
                    batches.giveBack(batch)
                case .reopen(let done):
                    tally.reopeningCount.wrappingSubtract(1, ordering: .relaxed)
                    tally.whileUsing(file: destination.isFile) {
                        tally.drop(LogWriter.reopen(destination, &end, done: done))
                    }
                case .close: loop.stop()
                }
            }
            loop.run()
            receiver.close()
            tally.drop(end.end(isOwn: isOwn))
        }
    }

    /// Returns a standard stream. If writes to it may block, because its reader may have stopped,
    /// it is opened again for us alone if possible.
    private static func open(_ stream: Int32) -> (descriptor: Int32, isOwn: Bool) {
        guard File.end(stream) == .waiting, let again = File.openAgain(stream) else {
            return (stream, false)
        }
        return (again.release(), true)
    }

    /// The number of lines that were thrown away because the destination was too slow, or took
    /// none.
    var droppedLineCount: UInt64 { tally.droppedLineCount.load(ordering: .relaxed) }

    /// Posts whole lines. Those of one thread are written in the order of its calls.
    func post(_ lines: Span<UInt8>) {
        if tally.enter(byteCount: lines.count) {
            if mailbox.post(.lines(batches.batch(of: lines))) { return }
            tally.leave(byteCount: lines.count)
        }
        tally.drop(lines.indices.count { lines[$0] == UInt8(ascii: "\n") })
    }

    /// Waits until everything that was posted is written, or a second is over. For use before
    /// something that may end the process.
    func awaitWritten() {
        Self.pause(atMost: Self.awaitedMilliseconds) {
            tally.queuedBatchCount.load(ordering: .relaxed) > 0
        }
    }

    /// Opens a file by its name again, after what was posted, because the old one was moved away.
    /// `done` is called on the log's thread with the reason why it could not be opened; with nil if
    /// it could, or if the log is no file. If too many such calls wait already, which open the file
    /// as well, `done` is called here.
    func reopen(done: @escaping @Sendable (IOError?) -> Void) {
        tally.reopeningCount.wrappingAdd(1, ordering: .relaxed)
        guard !mailbox.post(.reopen(done: done)) else { return }
        tally.reopeningCount.wrappingSubtract(1, ordering: .relaxed)
        done(IOError("log", .busy))
    }

    /// How long the thread has waited for the file; zero if it does not, or if the log is no file.
    var fileWait: Duration {
        let since = tally.fileUsedSince.load(ordering: .relaxed)
        guard since > 0 else { return .zero }
        return MonotonicInstant.now() - MonotonicInstant(nanoseconds: since)
    }

    /// False if the file does not answer for two seconds.
    func answers() -> Bool {
        Self.pause(atMost: Self.answerMilliseconds) { fileWait > .zero }
        return fileWait < .milliseconds(Self.answerMilliseconds)
    }

    /// Blocks while `isDue`, looking once a millisecond.
    private static func pause(atMost milliseconds: Int, while isDue: () -> Bool) {
        for _ in 0..<milliseconds {
            guard isDue() else { return }
            HostSystem.pause(milliseconds: 1)
        }
    }

    /// Has what was posted written, and then the thread end; see ``end(within:)``. False if it has
    /// ended already.
    func close() -> Bool {
        tally.isClosing.store(true, ordering: .relaxed)
        return mailbox.post(.close)
    }

    /// Waits for the end of the thread after ``close()``, but not for a file system that does not
    /// answer. Returns the number of bytes that were not written.
    func end(within limit: Duration) -> Int {
        thread.join(within: limit) ? 0 : tally.queuedByteCount.load(ordering: .relaxed)
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
    private static let answerMilliseconds = 2000
    /// The most batches that wait, each with the lines of one turn of a worker's loop.
    static let queueCountMax = 4096
    /// The most commands in the queue. They have room of their own, so that a slow disk does not
    /// make them be lost.
    static let commandCountMax = 8
    /// The most bytes of all batches together: more than a second of 50,000 lines a second.
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

    /// The number of times that each event came, written or left out.
    var eventCounts: [String: UInt64] { throttle.withLock { $0.counts } }

    /// Logs how many events were left out in the minutes that are over. To be called now and then.
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

    /// Opens the files again after a rotation.
    ///
    /// - Parameter tellsSuccess: true to log when all of them are open. Failures are always logged.
    func reopen(tellsSuccess: Bool) {
        let logs = named
        let reopening = Locked(LogReopening(waitingCount: logs.count))
        for (_, log) in logs {
            log.reopen { [self] error in
                if let error {
                    // Set before the event is written, so that a reader of the event finds it
                    // here.
                    lastReopenFailure.withLock { $0 = error }
                    event(
                        level: "error", "log_reopen_failed", "the old file stays in use: \(error)")
                }
                guard let end = reopening.withLock({ $0.done(error) }) else { return }
                lastReopenFailure.withLock { $0 = end.failure }
                guard end.failure == nil, tellsSuccess else { return }
                event(level: "info", "logs_reopened", "by the files' names")
            }
        }
    }

    /// The reason why a file could not be opened at the last rotation; nil if all could.
    var reopenFailure: IOError? { lastReopenFailure.withLock { $0 } }

    /// The logs with their settings' names.
    private var named: [(name: String, log: LogWriter)] {
        var named: [(String, LogWriter)] = []
        if let access { named.append(("log.access", access)) }
        if let events, events !== access { named.append(("log.events", events)) }
        return named
    }

    /// The log whose file does not answer for two seconds; nil if there is none. Blocks meanwhile.
    func awaitAnswers() -> String? { named.first { !$0.log.answers() }?.name }

    /// The log that has waited for its file for longest, and for how long.
    var longestFileWait: (name: String, time: Duration)? {
        named.map { ($0.name, $0.log.fileWait) }.max { $0.1 < $1.1 }
    }

    /// Ends both logs once what they were given is written. `tell` hears of what was not.
    func close(tell: (String) -> Void = { _ in }) {
        let closing = named.filter { $0.log.close() }
        let limit = MonotonicInstant.now() + Self.farewell
        for (name, log) in closing {
            let lostByteCount = log.end(within: max(.zero, limit - .now()))
            guard lostByteCount > 0 else { continue }
            tell("\(name): its file does not answer, so \(lostByteCount) bytes were not written")
        }
    }

    /// The longest wait for both. What was posted goes to a slow disk in less.
    private static let farewell = Duration.seconds(10)
}
