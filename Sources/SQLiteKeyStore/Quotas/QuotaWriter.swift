import EventLoop
public import KeyStore

/// The thread that owns the file of the counts of quotas. It writes once a second what has changed.
/// However long the disk takes, no request waits for it.
public final class QuotaWriter {
    /// The outcome of reading the file at the start.
    public let opening: QuotaOpening
    private let stopping: Mailbox<Void>
    private let thread: Thread

    /// The time between two batches: a killed process loses no more than this.
    private static let interval = Duration.seconds(1)

    private struct Prepared {
        let loop: EventLoop
        let file: QuotaFile
    }

    /// Reads what a process before has left into `quotas`, and waits for that. The caller has the
    /// lock of ``EmbeddedOwnership``.
    public init(_ quotas: EmbeddedQuotas, registryPath: String) throws {
        let stopping = try Mailbox<Void>(countMax: 1)
        let found = Locked(QuotaOpening.none)
        self.stopping = stopping
        thread = try Thread.spawn(
            name: "quotas",
            preparing: {
                let loop = try EventLoop()
                let file = QuotaFile(registryPath: registryPath)
                let opening = file.read(
                    into: quotas, nowMilliseconds: MonotonicInstant.now().milliseconds,
                    wallMilliseconds: WallClock.milliseconds())
                found.withLock { $0 = opening }
                return Prepared(loop: loop, file: file)
            }
        ) { prepared in
            let (loop, file) = (prepared.loop, prepared.file)
            let timer = Timer(loop: loop) { Self.write(quotas, to: file, isLast: false) }
            timer.scheduleRepeating(every: Self.interval)
            let receiver = stopping.attach(to: loop) { [unowned loop] _ in loop.stop() }
            loop.run()
            receiver.close()
            timer.cancel()
            quotas.close()
            Self.write(quotas, to: file, isLast: true)
            file.close()
        }
        opening = found.withLock { $0 }
    }

    private static func write(_ quotas: EmbeddedQuotas, to file: QuotaFile, isLast: Bool) {
        quotas.fileState.writingBegins()
        do throws(StoreError) {
            try file.write(
                quotas, wallMilliseconds: WallClock.milliseconds(), isLast: isLast)
            quotas.fileState.writingEnded(nil)
        } catch {
            quotas.fileState.writingEnded(error)
        }
    }

    /// Ends the counts, writes them, and waits for that, but no longer than `limit`: the disk may
    /// be stuck. False if they are not written. To be called once, after the last request.
    public func stop(within limit: Duration) -> Bool {
        _ = stopping.post(())
        return thread.join(within: limit)
    }
}
