import Bytes
import Crypto
import EventLoop
import HTTP
import JSON

/// What the client's connection, and other parts, give the intake.
extension RequestIntake {
    /// Keeps the bytes of a head that ``head`` has been parsed from.
    func keepHead(_ bytes: Span<UInt8>) {
        headStorage.replaceAll(with: bytes)
        completeTarget()
    }

    /// Writes out what the head leaves to be understood of its target.
    func completeTarget() { head.completeTarget(in: &headStorage) }

    /// Keeps the bytes of a head that is yet to be parsed, in place of any other.
    func replaceHead(with bytes: [UInt8]) {
        headStorage = bytes
        head.reset()
    }

    /// Exchanges the held body for `other`.
    func swapBody(_ other: inout HeldBody) { swap(&body, &other) }

    /// The body begins, or there is none.
    func beginBody(at start: MonotonicInstant, isComplete: Bool) {
        bodyStartedAt = start
        self.isComplete = isComplete
    }

    /// Has the digest of the body found out while it comes, and what `scan` looks for.
    func expectDigest(scanning scan: JSONScanner? = nil) {
        hash = SHA256Stream()
        self.scan = scan
    }

    /// Takes a proxy's word for the digest of a body that it does not show.
    func take(_ digest: Bytes32) { self.digest = digest }

    /// The request will not be sent again: what was kept of a streamed body for that goes.
    func stopKeeping() { if isStreaming { bodyStream.stopKeeping() } }

    /// The request is sent again, from the first byte of its body.
    func rewind() { if isStreaming { bodyStream.rewind() } }
}
