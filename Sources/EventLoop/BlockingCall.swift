/// Runs work that blocks (resolving a name, reading a file) on a thread of its own, and hands the
/// result to a loop.
///
/// If this object is dropped, the result is discarded; the thread ends with its work.
public final class BlockingCall<Value: Sendable> {
    private let receiver: MailboxReceiver<Value>

    /// `name` is the thread's, of at most 15 bytes. `handler` is called on the loop, once, later.
    public init(
        name: String, loop: EventLoop, _ body: @escaping @Sendable () -> Value,
        handler: @escaping (Value) -> Void
    ) throws(IOError) {
        let mailbox = try Mailbox<Value>(countMax: 1)
        receiver = mailbox.attach(to: loop, handler: handler)
        _ = try Thread.spawn(name: name) { _ = mailbox.post(body()) }
    }
}
