import Bytes
import EventLoop
import JSON
import Settings
import Synchronization

/// Writes finished log lines to one destination, on a thread of its own: a slow disk or a stopped
/// reader of our pipe never holds a worker.
final class LogWriter: @unchecked Sendable {
    private enum Message: Sendable {
        case lines([UInt8])
        case reopen
        case close
    }

    private let mailbox: Mailbox<Message>
    /// Touched by whoever makes and closes the writer only, which is the control thread.
    private let thread: Thread
    /// Batches thrown away because the destination was too slow.
    let droppedCount = Atomic<UInt64>(0)

    /// Nil for `off`.
    init?(_ destination: LogSettings.Destination) throws {
        let descriptor: Int32
        switch destination {
        case .off: return nil
        case .standardOutput: descriptor = 1
        case .standardError: descriptor = 2
        case .file(let path): descriptor = try File.openAppending(path).release()
        }
        let mailbox = try Mailbox<Message>(countMax: Self.queueCountMax)
        self.mailbox = mailbox
        thread = try Thread.spawn(name: "log", preparing: { try EventLoop() }) { loop in
            var current = descriptor
            let receiver = mailbox.attach(to: loop) { message in
                switch message {
                case .lines(let bytes): LogWriter.write(bytes, to: current)
                case .reopen: LogWriter.reopen(destination, &current)
                case .close: loop.stop()
                }
            }
            loop.run()
            receiver.close()
        }
    }

    func post(_ lines: [UInt8]) {
        if !mailbox.post(.lines(lines)) { droppedCount.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Opens a file by its name again, after what was posted: the old one was moved away.
    func reopen() { _ = mailbox.post(.reopen) }

    /// Writes what was posted, then ends the thread.
    func close() {
        if mailbox.post(.close) { thread.join() }
    }

    /// Where the file cannot be opened, the old one is written on.
    private static func reopen(
        _ destination: LogSettings.Destination, _ descriptor: inout Int32
    ) {
        guard case .file(let path) = destination,
            let fresh = try? File.openAppending(path).release()
        else { return }
        Socket.close(descriptor)
        descriptor = fresh
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        // A destination that cannot be written (a full disk, a closed pipe) loses the lines: the
        // requests they speak of are served all the same.
        var rest = bytes.span
        while !rest.isEmpty {
            guard case .bytes(let count) = File.append(descriptor, rest) else { return }
            rest = rest.extracting(count...)
        }
    }

    /// Batches, each the lines of one turn of a worker's loop.
    static let queueCountMax = 4096
}

/// The two logs: accesses, and events of the gateway itself.
final class LogWriters: Sendable {
    let access: LogWriter?
    let events: LogWriter?

    init(_ settings: LogSettings) throws {
        access = try LogWriter(settings.access)
        events =
            settings.events == settings.access ? access : try LogWriter(settings.events)
    }

    func event(level: StaticString, _ name: StaticString, _ message: String) {
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
        events.post(bytes.readable.array)
    }

    /// A store has gone, and why, or is back.
    func storeEvent(_ store: StaticString, isUp: Bool, _ reason: String) {
        if isUp {
            event(level: "info", "store_up", "\(store): answering again")
        } else {
            event(level: "error", "store_down", "\(store): not answering: \(reason)")
        }
    }

    /// For the rotation of log files.
    func reopen() {
        access?.reopen()
        if events !== access { events?.reopen() }
    }

    func close() {
        access?.close()
        if events !== access { events?.close() }
    }
}
