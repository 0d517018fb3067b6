import EventLoop

/// The files of one worker's bodies. It receives the outcome of each job that a thread has done.
final class BodyFiles {
    let deadlines: DeadlineWheel
    let loop: EventLoop
    private let threads: BodyFileThreads
    private let descriptorMax: Int32
    private let replies: Mailbox<BodyFileReply>
    private var receiver: MailboxReceiver<BodyFileReply>?
    /// The files with a job under way, by number.
    private var busy: [UInt64: BodyFile] = [:]
    private var lastNumber: UInt64 = 0

    /// - `descriptorMax`: the number that descriptors of the files must stay below.
    init(
        loop: EventLoop, deadlines: DeadlineWheel, threads: BodyFileThreads,
        descriptorMax: Int32 = .max
    ) throws(IOError) {
        self.loop = loop
        self.deadlines = deadlines
        self.threads = threads
        self.descriptorMax = descriptorMax
        replies = try Mailbox(countMax: 1 << 20)
        receiver = replies.attach(to: loop) { [unowned self] reply in receive(reply) }
    }

    /// Returns a body's file, which its first job will make in the directory `path`. Each job may
    /// take `patience` nanoseconds.
    ///
    /// Throws ``BodyFile/timeout(_:)`` while an earlier job in the directory has not been answered.
    func make(in path: String, patience: UInt64) throws(IOError) -> BodyFile {
        let directory = threads.directory(path)
        guard !directory.isStuck else { throw BodyFile.timeout(path) }
        lastNumber += 1
        return BodyFile(
            number: lastNumber, files: self, directory: directory, queue: try directory.queue(),
            patience: patience)
    }

    /// Has the file's thread do `work`, then tells the file the outcome.
    func run(
        _ file: BodyFile,
        _ work: @escaping @Sendable (Int32) throws(IOError) -> TemporaryFile.Content?
    ) {
        let (number, replies, descriptorMax) = (file.number, replies, descriptorMax)
        let isTaken = file.queue.post {
            let outcome = Result { () throws(IOError) in try work(descriptorMax) }
            _ = replies.post(BodyFileReply(number: number, outcome: outcome))
        }
        if isTaken { busy[number] = file }
    }

    private func receive(_ reply: BodyFileReply) {
        busy.removeValue(forKey: reply.number)?.jobEnded(reply.outcome)
    }
}

struct BodyFileReply: Sendable {
    let number: UInt64
    let outcome: Result<TemporaryFile.Content?, IOError>
}

/// The owner of a body in a file, which is told when the body can be used.
protocol HeldBodyOwner: AnyObject {
    /// The file can take more of the body, more of it can be sent on, or all of it is written.
    func bodyFileIsReady()
    /// The file failed, and the body is lost.
    func bodyFileFailed(_ error: IOError)
}
