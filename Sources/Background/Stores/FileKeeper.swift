import EventLoop

/// Writes files of documents that were fetched, one after another, so that no loop waits for a disk
/// and an older document never replaces a newer one. It belongs to the control thread.
final class FileKeeper {
    typealias Write = @Sendable () throws(IOError) -> Void

    private let threadName: String
    private let loop: EventLoop
    /// Called with the failure when files can no longer be written, and with nil once they can.
    private let changed: (IOError?) -> Void
    /// The writes that wait, by the names of files.
    private var waiting: [String: Write] = [:]
    private var call: BlockingCall<IOError?>?
    private var timer: Timer?
    private var isKept = true

    init(threadName: String, loop: EventLoop, changed: @escaping (IOError?) -> Void) {
        self.threadName = threadName
        self.loop = loop
        self.changed = changed
        timer = Timer(loop: loop) { [unowned self] in writeNext() }
    }

    /// Has `write` called on a thread of its own, in place of an earlier one of the same name that
    /// still waits.
    func keep(_ name: String, _ write: @escaping Write) {
        waiting[name] = write
        writeNext()
    }

    private func writeNext() {
        guard call == nil, let (name, write) = waiting.first else { return }
        waiting[name] = nil
        do throws(IOError) {
            call = try BlockingCall(name: threadName, loop: loop) { () -> IOError? in
                do throws(IOError) {
                    try write()
                    return nil
                } catch {
                    return error
                }
            } handler: { [unowned self] failure in
                call = nil
                tell(failure)
                writeNext()
            }
        } catch {
            waiting[name] = write
            tell(error)
            timer?.schedule(after: Self.pause)
        }
    }

    /// The time after which a thread is asked for again.
    private static let pause = Duration.seconds(60)

    private func tell(_ failure: IOError?) {
        guard (failure == nil) != isKept else { return }
        isKept.toggle()
        changed(failure)
    }
}
