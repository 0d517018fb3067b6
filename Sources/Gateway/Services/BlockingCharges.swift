import EventLoop
import KeyStore

/// The counter store of a worker, for threads that may block. It makes their charges among those of
/// requests, and remembers them as it does those.
struct BlockingCharges: Sendable {
    let mailbox: Mailbox<WorkerMessage>

    /// The time for a verdict. A counter store has a shorter time-out of its own, so only a stuck
    /// worker takes longer.
    private static let patience = Duration.seconds(10)

    /// The verdict on a charge: `.unknown` if the worker does not answer in time. Blocks.
    func make(_ charge: QuotaCharge) -> QuotaVerdict {
        guard let loop = try? EventLoop(), let replies = try? Mailbox<QuotaVerdict>(countMax: 1)
        else { return .unavailable }
        var verdict = QuotaVerdict.unknown
        let receiver = replies.attach(to: loop) { reply in
            verdict = reply
            loop.stop()
        }
        defer { receiver.close() }
        guard mailbox.post(.charge(charge, replies)) else { return .unavailable }
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: Self.patience)
        loop.run()
        timer.cancel()
        return verdict
    }
}
