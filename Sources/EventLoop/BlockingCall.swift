/// Something that blocks (a name resolved, a file read), done on a thread of its own, and its
/// result handed to a loop.
///
/// Dropping it makes the result go nowhere; the thread ends with its work.
public final class BlockingCall<Value: Sendable> {
    private let receiver: MailboxReceiver<Value>

    /// `name` is the thread's, of at most 15 bytes. `handler` runs on the loop, once, later.
    public init(
        name: String, loop: EventLoop, _ body: @escaping @Sendable () -> Value,
        handler: @escaping (Value) -> Void
    ) throws(IOError) {
        let mailbox = try Mailbox<Value>(countMax: 1)
        receiver = mailbox.attach(to: loop, handler: handler)
        _ = try Thread.spawn(name: name) { _ = mailbox.post(body()) }
    }
}
