import AppAttest
import Crypto
import EventLoop
import GatewayTokens

/// What verifies the proofs of one worker.
struct ProofVerifiers: ~Copyable {
    /// Assertions, one at a time.
    var assertions: AssertionVerifier
    /// The assertions of a turn together; nil where no library can.
    let queue: SignatureQueue?
    var tokens = AuthenticTokens()

    static func make(
        _ batching: SignatureBatching, loop: EventLoop, meter: WorkerMeter, log: WorkerLog
    ) throws(CryptoError) -> ProofVerifiers {
        let queue = try queue(batching, loop, meter, log)
        return ProofVerifiers(assertions: try AssertionVerifier(), queue: queue)
    }

    /// Another site's tokens may have other keys.
    mutating func siteWasReplaced() { tokens.removeAll() }

    private static func queue(
        _ batching: SignatureBatching, _ loop: EventLoop, _ meter: WorkerMeter, _ log: WorkerLog
    ) throws(CryptoError) -> SignatureQueue? {
        guard case .on(let library, let auditPercent, let laneCountMin) = batching else {
            return nil
        }
        return try SignatureQueue(
            library: library, auditPercent: auditPercent, laneCountMin: laneCountMin, loop: loop,
            meter: meter, log: log)
    }
}
