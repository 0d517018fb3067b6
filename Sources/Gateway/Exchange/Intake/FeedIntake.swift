import Bytes
import Crypto
import EventLoop
import HTTP
import JSON

/// The calls by which the client's connection and other parts give the intake its bytes and facts.
extension RequestIntake {
    /// Parses the head in `bytes`, which are all that have come of it so far.
    func parseHead(_ bytes: Span<UInt8>) -> HeadOutcome {
        state.head.parse(bytes, limits: site.headLimits)
    }

    /// Keeps the bytes of the head that was parsed into ``head``.
    func keepHead(_ bytes: Span<UInt8>) {
        state.headStorage.replaceAll(with: bytes)
        completeTarget()
    }

    /// Gives a target such as `http://a?q` the path that it stands for.
    func completeTarget() { state.head.completeTarget(in: &state.headStorage) }

    /// Replaces the head's bytes by `bytes`, which are not parsed yet. Returns those before.
    @discardableResult
    func replaceHead(with bytes: consuming [UInt8]) -> [UInt8] {
        swap(&state.headStorage, &bytes)
        state.head.reset()
        return bytes
    }

    /// Exchanges the held body for `other`.
    func swapBody(_ other: inout HeldBody) { swap(&state.body, &other) }

    /// Notes when the body began, or that there is none.
    func beginBody(at start: MonotonicInstant, isComplete: Bool) {
        state.bodyStartedAt = start
        state.isComplete = isComplete
    }

    /// Has the body hashed while it comes, and searched by `scan`.
    func expectDigest(scanning scan: JSONScanner? = nil) {
        state.hash = SHA256Stream()
        state.scan = scan.map { BodySearch($0) }
    }

    /// Takes the digest of a body that a proxy does not show, as the proxy states it.
    func take(_ digest: Bytes32) { state.digest = digest }

    /// Forgets the kept bytes of a streamed body, because the request will not be sent again.
    func stopKeeping() { if state.isStreaming { state.bodyStream.stopKeeping() } }

    /// Starts the body again from its first byte, because the request is sent again.
    func rewind() { if state.isStreaming { state.bodyStream.rewind() } }
}
