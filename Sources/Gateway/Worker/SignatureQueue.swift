import AppAttest
import Crypto
import EventLoop
import KeyStore
import Policy

/// The assertions of one turn of a worker's loop, whose signatures are verified together when it
/// ends. Nobody waits longer: with few there is no batch, and there is no timer.
final class SignatureQueue {
    private let meter: WorkerMeter
    private let log: WorkerLog
    private let library: MultiBufferLibrary
    private var batch: AssertionBatch
    /// Those of ``batch``, in its order.
    private var waiting: [Waiting] = []
    private var turnEnd: TurnEndHook?

    private struct Waiting {
        let exchange: Exchange
        /// The exchange has another one once it is another request's.
        let number: UInt64
    }

    init(
        library: MultiBufferLibrary, auditPercent: Int, laneCountMin: Int, loop: EventLoop,
        meter: WorkerMeter, log: WorkerLog
    ) throws(CryptoError) {
        self.library = library
        self.meter = meter
        self.log = log
        batch = AssertionBatch(
            try P256BatchVerifier(
                library: library, auditPercent: auditPercent, laneCountMin: laneCountMin))
        turnEnd = TurnEndHook(loop: loop, isWork: true) { [unowned self] in verify() }
    }

    /// Takes the assertion of `exchange`, which hears of it at the end of the turn. What can be
    /// refused without its signature is refused at once.
    func add(
        _ exchange: Exchange, _ evidence: borrowing Evidence, _ key: CachedKey, _ app: AppIdentity
    ) throws(AssertionFailure) {
        try batch.add(
            evidence.assertion, clientDataHash: evidence.clientDataHash,
            publicKey: key.publicKey, rpIDHash: app.rpIDHash)
        waiting.append(Waiting(exchange: exchange, number: exchange.number))
        turnEnd?.schedule()
    }

    private func verify() {
        // Those that come meanwhile wait for the next turn.
        var remaining = waiting.count
        var outcomes: [AssertionBatch.Outcome] = []
        while remaining > 0 {
            let count = batch.batchCount(of: remaining)
            let startedAt = meter.signatures.begin()
            outcomes.removeAll(keepingCapacity: true)
            batch.verify(count) { outcomes.append($0) }
            meter.signatures.end(startedAt, checkCount: count)
            meter.countBatch(of: count)
            remaining -= count
            let verified = waiting[..<count]
            waiting.removeFirst(count)
            for (waiting, outcome) in zip(verified, outcomes) {
                // Its client may have gone.
                guard waiting.exchange.number == waiting.number else { continue }
                waiting.exchange.signatureWasChecked(outcome)
            }
        }
        if !waiting.isEmpty { turnEnd?.schedule() }
        if library.takeLossOfTrust() { tellLossOfTrust() }
    }

    private func tellLossOfTrust() {
        log.event(
            level: "error", "signature_library_distrusted",
            "OpenSSL does not share a verdict of \(library.path): signatures are verified one at a "
                + "time until the gateway restarts, and what the library said before may be wrong")
    }
}
