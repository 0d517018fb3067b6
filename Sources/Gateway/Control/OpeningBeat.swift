import EventLoop

/// Keeps the service manager patient while the stores open, which may wait for a disk, and no loop
/// runs yet.
public final class OpeningBeat {
    private struct End: Sendable {}

    private let thread: Thread
    private let mailbox: Mailbox<End>

    /// Nil if nothing keeps watch.
    public init?(_ supervisor: Supervisor) throws {
        guard let socket = supervisor.socket, let watchdog = supervisor.watchdog else { return nil }
        let mailbox = try Mailbox<End>(countMax: 1)
        self.mailbox = mailbox
        thread = try Thread.spawn(name: "beat", preparing: { try EventLoop() }) { loop in
            let receiver = mailbox.attach(to: loop) { _ in loop.stop() }
            let end = loop.now + Self.longest
            let timer = Timer(loop: loop) {
                if loop.now < end { socket.send(["WATCHDOG=1", Self.moreTime]) }
            }
            timer.scheduleRepeating(every: watchdog / 4)
            loop.run()
            timer.cancel()
            receiver.close()
        }
    }

    /// To be called once the stores are open, or cannot be opened.
    public func end() {
        _ = mailbox.post(End())
        thread.join()
    }

    /// Whatever takes longer is not slow, and may be ended.
    private static let longest = Duration.seconds(3600)
    private static let moreTime = "EXTEND_TIMEOUT_USEC=30000000"
}
