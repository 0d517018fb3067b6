import Attestation
import Bytes
import Crypto
import EventLoop
import KeyStore
import Policy

/// The requests whose signatures are verified when the current turn of a worker's loop ends, or one
/// of the next. In each turn up to eight signatures are verified, together if a library can, then
/// these requests go on and leave, and the loop takes what has come meanwhile.
///
/// OpenSSL's arithmetic drives the code of the gateway and of the kernel out of the processor's
/// first cache. This way that happens once for several requests: for half of those that wait, since
/// the more go on together, the longer the first of them waits. There is no timer.
final class SignatureQueue {
    private let meter: WorkerMeter
    private let log: WorkerLog
    private let library: MultiBufferLibrary?
    private var batch: SignatureBatch
    private var waiting: [Waiting] = []
    /// The requests that go on next.
    private var next: [Waiting] = []
    /// Their results.
    private var outcomes: [SignatureBatch.Outcome] = []
    private let turnEnd: TurnEndHook

    private struct Waiting {
        let request: any WaitingRequest
        /// The number that the request had when it came.
        let number: UInt64
        let entry: SignatureBatch.Entry

        /// True if the request has ended without its verdict.
        var isLeft: Bool { request.number != number }
    }

    init(
        _ batching: SignatureBatching, loop: EventLoop, meter: WorkerMeter, log: WorkerLog
    ) throws(CryptoError) {
        self.meter = meter
        self.log = log
        library = batching.library
        batch = SignatureBatch(try batching.makeVerifier())
        turnEnd = TurnEndHook(loop: loop, stage: .work)
        turnEnd.setBody { [unowned self] in verify() }
    }

    /// Checks the signature of `entry`. `request` gets the verdict at the end of a turn.
    func add(_ request: any WaitingRequest, _ entry: SignatureBatch.Entry) {
        waiting.append(Waiting(request: request, number: request.number, entry: entry))
        turnEnd.schedule()
    }

    /// The most requests that wait for the next turn. If more come than can be verified, they are
    /// to wait unread, where their age is known (``Backlog``).
    private static let leftCountMax = 32

    private func verify() {
        repeat { verifyNext() } while waiting.count > Self.leftCountMax
        if !waiting.isEmpty { turnEnd.schedule() }
        if let library, let reason = library.takeLossOfTrust() {
            tellLossOfTrust(of: library, reason)
        }
    }

    /// Checks the signatures of the first few requests, which then go on.
    private func verifyNext() {
        takeNext()
        dropLeft()
        checkSignatures()
        // Its client may have gone.
        for index in outcomes.indices where !next[index].isLeft {
            next[index].request.signatureWasChecked(outcomes[index])
        }
        outcomes.removeFew()
        next.removeFew()
    }

    private func takeNext() {
        let total = waiting.count
        let isTogether = batch.batchCount(of: total) > 1
        let count = min(isTogether ? total : (total + 1) / 2, Outbox.connectionCountMax)
        guard count < total else {
            swap(&waiting, &next)
            return
        }
        next.append(contentsOf: waiting[..<count])
        waiting.removeFirst(count)
    }

    /// Forgets those of ``next`` whose clients have left: their signatures are not checked.
    private func dropLeft() {
        var hasLeft = false
        for index in next.indices where next[index].isLeft || next[index].request.endIfClientLeft()
        {
            hasLeft = true
        }
        if hasLeft { next.removeAll { $0.isLeft } }
    }

    /// Checks the signatures of ``next``.
    private func checkSignatures() {
        while outcomes.count < next.count {
            let first = outcomes.count
            let count = batch.batchCount(of: next.count - first)
            let startedAt = meter.signatures.begin()
            batch.verify(count) {
                next[first + $0].entry
            } verdict: {
                outcomes.append($0)
            }
            meter.signatures.end(startedAt, checkCount: count)
            meter.countBatch(of: count)
            let undecidedCount = batch.takeUndecidedCount()
            if undecidedCount > 0 { meter.add(.signaturesUndecided, undecidedCount) }
        }
    }

    private func tellLossOfTrust(of library: MultiBufferLibrary, _ reason: MultiBufferDistrust) {
        log.event(
            level: "error", "signature_library_distrusted",
            "\(reason.text(about: library.path)): signatures are verified one at a time until the "
                + "gateway restarts"
                + (reason.isAboutVerdicts
                    ? ", and its earlier verdicts may be wrong" : ""))
    }
}
