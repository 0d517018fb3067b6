import EventLoop
import Synchronization

/// The thread that owns the disk behind a ``FloorTable``. It brings the copy there up to date ten
/// times a second, and takes over the files of processes that have ended. However long the disk
/// takes, nothing else waits for it.
public final class FloorWriter {
    private let stopping: Mailbox<Void>
    private let hasEnded: Ended

    /// The state that the thread and its owner share.
    private final class Ended: Sendable {
        let flag = Atomic(false)
    }

    /// The time between two turns: a killed process without a file in memory loses this much.
    private static let interval = Duration.milliseconds(100)
    /// The number of turns between two looks for processes that have ended.
    private static let takeOverTurnCount = 10

    public init(_ floors: FloorTable) throws {
        let stopping = try Mailbox<Void>(countMax: 1)
        let hasEnded = Ended()
        self.stopping = stopping
        self.hasEnded = hasEnded
        _ = try Thread.spawn(name: "floors", preparing: { try EventLoop() }) { loop in
            var turn = 0
            let timer = Timer(loop: loop) {
                let now = MonotonicInstant.now().milliseconds
                turn += 1
                if turn % Self.takeOverTurnCount == 0 { floors.takeOver(now: now) }
                floors.bringToDisk(now: now)
            }
            timer.scheduleRepeating(every: Self.interval)
            let receiver = stopping.attach(to: loop) { [unowned loop] _ in loop.stop() }
            loop.run()
            receiver.close()
            timer.cancel()
            hasEnded.flag.store(true, ordering: .releasing)
        }
    }

    /// Ends the thread and waits for it, but not for a disk that is stuck.
    public func stop(withinMilliseconds limit: Int) {
        _ = stopping.post(())
        var waited = 0
        while !hasEnded.flag.load(ordering: .acquiring), waited < limit {
            HostSystem.pause(milliseconds: Self.pauseMilliseconds)
            waited += Int(Self.pauseMilliseconds)
        }
    }

    private static let pauseMilliseconds: Int32 = 5
}
