import EventLoop

/// Resolves one host name on a thread of its own, and hands the result to a loop.
///
/// Dropping it makes the result go nowhere. The resolver's own time-outs bound the thread's life.
final class NameLookup {
    private var receiver: MailboxReceiver<Result<[SocketAddress], IOError>>?

    init(
        host: String, port: UInt16, loop: EventLoop,
        handler: @escaping (Result<[SocketAddress], IOError>) -> Void
    ) throws(IOError) {
        let mailbox = try Mailbox<Result<[SocketAddress], IOError>>(countMax: 1)
        receiver = mailbox.attach(to: loop, handler: handler)
        _ = try Thread.spawn(name: "redis-lookup") {
            let result = Result { () throws(IOError) in
                try SocketAddress.resolve(host: host, port: port)
            }
            _ = mailbox.post(result)
        }
    }
}
