import Bytes
import EventLoop
import TLS

/// The pipe through which long answers reach clients without a copy. All connections of a worker
/// share one, created when it is first needed.
final class AnswerPipe {
    private(set) var pipe: SplicePipe?
    private let descriptorMax: Int32

    init(descriptorMax: Int32) { self.descriptorMax = descriptorMax }

    /// Moves up to `byteCountMax` bytes of an upstream's answer to the client, and appends to
    /// `rest` the bytes that the client does not take now.
    ///
    /// Nil if the bytes must be read instead: with TLS, without a spare descriptor, or from a
    /// source that the kernel cannot splice.
    func move(
        from upstream: Transport, to client: Transport, atMost byteCountMax: Int,
        rest: inout ByteBuffer
    ) -> SplicePipe.Move? {
        guard !upstream.isTLS, !client.isTLS else { return nil }
        if pipe == nil { pipe = try? SplicePipe(descriptorMax: descriptorMax) }
        let move = pipe?.move(
            from: upstream.descriptor, to: client.descriptor, atMost: byteCountMax, rest: &rest)
        guard let move, !move.isUnsupported else { return nil }
        // The bytes that the client was to get are still in the pipe.
        if move.isTargetLost { pipe = nil }
        return move
    }
}
