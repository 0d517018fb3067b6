import Attestation
import Bytes
import Crypto
import EventLoop
import KeyStore
import Policy

/// The requests of one turn of a worker's loop, whose signatures are verified when it ends. First
/// eight signatures are verified, together if a library can, then each of the eight requests goes
/// on.
///
/// OpenSSL's arithmetic drives the code of the gateway and of the kernel out of the processor's
/// first cache. This way that happens once for eight requests. No request leaves later for it:
/// eight leave together in any case (``Outbox``), and there is no timer.
final class SignatureQueue {
    private let meter: WorkerMeter
    private let log: WorkerLog
    private let library: MultiBufferLibrary?
    private var batch: SignatureBatch
    private var waiting: [Waiting] = []
    /// The requests of the turn that ends.
    private var ending: [Waiting] = []
    /// The results of some of them.
    private var outcomes: [SignatureBatch.Outcome] = []
    private var turnEnd: TurnEndHook?

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
        turnEnd = TurnEndHook(loop: loop, stage: .work) { [unowned self] in verify() }
    }

    /// Checks the signature of `entry`. `request` gets the verdict at the end of the turn.
    func add(_ request: any WaitingRequest, _ entry: SignatureBatch.Entry) {
        waiting.append(Waiting(request: request, number: request.number, entry: entry))
        turnEnd?.schedule()
    }

    private func verify() {
        // Requests that come meanwhile wait for the next turn.
        swap(&waiting, &ending)
        dropLeft()
        var first = 0
        while first < ending.count {
            checkSignatures(min(ending.count - first, Outbox.connectionCountMax), from: first)
            for index in outcomes.indices {
                let waiting = ending[first + index]
                // Its client may have gone.
                guard !waiting.isLeft else { continue }
                waiting.request.signatureWasChecked(outcomes[index])
            }
            first += outcomes.count
            outcomes.removeFew()
        }
        ending.removeFew()
        if !waiting.isEmpty { turnEnd?.schedule() }
        if let library, let reason = library.takeLossOfTrust() {
            tellLossOfTrust(of: library, reason)
        }
    }

    /// Forgets requests whose clients have left: their signatures are not checked.
    private func dropLeft() {
        var hasLeft = false
        for waiting in ending where waiting.isLeft || waiting.request.endIfClientLeft() {
            hasLeft = true
        }
        if hasLeft { ending.removeAll { $0.isLeft } }
    }

    /// Checks `total` signatures of ``ending``.
    private func checkSignatures(_ total: Int, from first: Int) {
        while outcomes.count < total {
            let count = batch.batchCount(of: total - outcomes.count)
            let startedAt = meter.signatures.begin()
            let next = first + outcomes.count
            batch.verify(count) {
                ending[next + $0].entry
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
