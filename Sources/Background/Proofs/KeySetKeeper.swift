import EventLoop

/// Writes the keys of issuers to their files, one after another, so that no loop waits for a disk
/// and older keys never replace newer ones. It belongs to the control thread.
final class KeySetKeeper {
    private let folder: KeySetFolder
    private let loop: EventLoop
    private let log: any EventLog
    /// The keys that wait, by the names of issuers.
    private var waiting: [String: KeptKeySet] = [:]
    private var call: BlockingCall<IOError?>?
    private var isKept = true

    init(_ folder: KeySetFolder, loop: EventLoop, log: any EventLog) {
        self.folder = folder
        self.loop = loop
        self.log = log
    }

    func keep(_ kept: KeptKeySet) {
        waiting[kept.place.name] = kept
        writeNext()
    }

    private func writeNext() {
        guard call == nil, let (name, next) = waiting.first else { return }
        waiting[name] = nil
        let folder = folder
        do throws(IOError) {
            call = try BlockingCall(name: "jwks", loop: loop) { () -> IOError? in
                do throws(IOError) {
                    try folder.write(next)
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
            tell(error)
        }
    }

    private func tell(_ failure: IOError?) {
        guard (failure == nil) != isKept else { return }
        isKept.toggle()
        if let failure {
            log.event(
                level: "warning", "jwks_unkept",
                "\(failure); after a restart the issuers have to be asked for their keys first")
        } else {
            log.event(level: "info", "jwks_kept", "the files of issuers' keys are written again")
        }
    }
}
