import Bytes
import Crypto
import EventLoop
import HTTP
import JSON

/// The calls by which the client's connection and other parts give the intake its bytes and facts.
extension RequestIntake {
    /// Keeps the bytes of the head that was parsed into ``head``.
    func keepHead(_ bytes: Span<UInt8>) {
        headStorage.replaceAll(with: bytes)
        completeTarget()
    }

    /// Gives a target such as `http://a?q` the path that it stands for.
    func completeTarget() { head.completeTarget(in: &headStorage) }

    /// Replaces the head's bytes by `bytes`, which are not parsed yet.
    func replaceHead(with bytes: [UInt8]) {
        headStorage = bytes
        head.reset()
    }

    /// Exchanges the held body for `other`.
    func swapBody(_ other: inout HeldBody) { swap(&body, &other) }

    /// Notes when the body began, or that there is none.
    func beginBody(at start: MonotonicInstant, isComplete: Bool) {
        bodyStartedAt = start
        self.isComplete = isComplete
    }

    /// Has the body hashed while it comes, and searched by `scan`.
    func expectDigest(scanning scan: JSONScanner? = nil) {
        hash = SHA256Stream()
        self.scan = scan
    }

    /// Takes the digest of a body that a proxy does not show, as the proxy states it.
    func take(_ digest: Bytes32) { self.digest = digest }

    /// Forgets the kept bytes of a streamed body, because the request will not be sent again.
    func stopKeeping() { if isStreaming { bodyStream.stopKeeping() } }

    /// Starts the body again from its first byte, because the request is sent again.
    func rewind() { if isStreaming { bodyStream.rewind() } }
}
