import CLibevent
import CLinux

/// The only way into a loop from other threads: a bounded queue and an eventfd.
///
/// Any thread posts; one loop receives. Only a message that finds the queue empty wakes the loop,
/// which then takes all queued messages in one batch.
public final class Mailbox<Message: Sendable>: Sendable {
    struct Contents {
        var messages: [Message] = []
        var isOpen = true
    }

    private let countMax: Int
    private let contents = Locked(Contents())
    private let wakeUp: Descriptor

    /// Makes a mailbox in which `countMax` messages may wait; a further one is refused.
    public init(countMax: Int) throws(IOError) {
        precondition(countMax > 0)
        self.countMax = countMax
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw IOError("eventfd", errno: sallyport_errno()) }
        wakeUp = Descriptor(owning: descriptor)
    }

    /// Posts a message. False if the queue is full or the receiving loop has gone; the message is
    /// dropped then.
    public func post(_ message: Message) -> Bool {
        var isFirst = false
        let isTaken = contents.withLock { contents in
            guard contents.isOpen, contents.messages.count < countMax else { return false }
            isFirst = contents.messages.isEmpty
            contents.messages.append(message)
            return true
        }
        if isFirst {
            // Fails only if the counter is full, and then the loop is awake.
            _ = eventfd_write(wakeUp.raw, 1)
        }
        return isTaken
    }

    /// Receives on `loop` until the returned receiver is dropped. Called once, by the loop's
    /// thread; messages that were posted before are delivered then.
    ///
    /// The receiver retains `handler`, which should capture the receiver's owner `unowned`.
    public func attach(
        to loop: EventLoop, handler: @escaping (Message) -> Void
    ) -> MailboxReceiver<Message> {
        MailboxReceiver(self, loop: loop, handler: handler)
    }

    var descriptor: Int32 { wakeUp.raw }

    /// Exchanges the queue for `spare`, an empty array whose storage is reused.
    func take(_ spare: consuming [Message]) -> [Message] {
        var count: eventfd_t = 0
        // Before the queue is emptied, so that a message posted in between wakes the loop once too
        // often rather than too rarely.
        _ = unsafe eventfd_read(wakeUp.raw, &count)
        return contents.withLock { contents in
            let messages = contents.messages
            contents.messages = spare
            return messages
        }
    }

    /// Refuses messages from now on and drops those that wait.
    func close() {
        contents.withLock { contents in
            contents.isOpen = false
            contents.messages = []
        }
    }
}

/// The receiving end of a ``Mailbox``, on its loop's thread. Dropping it closes the mailbox: posts
/// are refused from then on, and waiting messages are dropped.
public final class MailboxReceiver<Message: Sendable>: ReadinessHandler {
    private let mailbox: Mailbox<Message>
    private let watch: Watch
    private let handler: (Message) -> Void
    private var isOpen = true
    private var batch: [Message] = []

    fileprivate init(
        _ mailbox: Mailbox<Message>, loop: EventLoop, handler: @escaping (Message) -> Void
    ) {
        self.mailbox = mailbox
        self.handler = handler
        watch = Watch(loop: loop, descriptor: mailbox.descriptor)
        watch.handler = self
        watch.enableReading()
    }

    deinit { mailbox.close() }

    /// Closes the mailbox before the receiver goes; not even the rest of a batch is delivered.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        watch.cancel()
        mailbox.close()
    }

    public func descriptorIsReadable() {
        // No reference is kept here, so that the poster need not copy the array.
        let spare = batch
        batch = []
        var messages = mailbox.take(spare)
        for message in messages {
            if !isOpen { break }
            handler(message)
        }
        messages.removeAll(keepingCapacity: true)
        batch = messages
    }

    public func descriptorIsWritable() {}
}
