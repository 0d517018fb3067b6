import Crypto
import EventLoop
import GatewayTokens

/// What verifies the proofs of one worker.
struct ProofVerifiers: ~Copyable {
    /// Assertions, those of a turn one after another.
    let queue: SignatureQueue
    var tokens = AuthenticTokens()

    static func make(
        _ batching: SignatureBatching, loop: EventLoop, meter: WorkerMeter, log: WorkerLog
    ) throws(CryptoError) -> ProofVerifiers {
        ProofVerifiers(queue: try SignatureQueue(batching, loop: loop, meter: meter, log: log))
    }

    /// Another site's tokens may have other keys.
    mutating func siteWasReplaced() { tokens.removeAll() }
}
