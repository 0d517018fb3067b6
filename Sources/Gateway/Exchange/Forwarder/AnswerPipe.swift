import Bytes
import EventLoop
import TLS

/// The pipe by which long answers reach their clients without a copy: one for all connections of a
/// worker, made when it is first needed.
final class AnswerPipe {
    private(set) var pipe: SplicePipe?
    private let descriptorMax: Int32

    init(descriptorMax: Int32) { self.descriptorMax = descriptorMax }

    /// Moves up to `byteCountMax` bytes that have come from an upstream to the client, and appends
    /// to `rest` what the client does not take for now.
    ///
    /// Nil where it must be read: over TLS, without a descriptor to spare, or from what the kernel
    /// cannot splice.
    func move(
        from upstream: Transport, to client: Transport, atMost byteCountMax: Int,
        rest: inout ByteBuffer
    ) -> SplicePipe.Move? {
        guard !upstream.isTLS, !client.isTLS else { return nil }
        if pipe == nil { pipe = try? SplicePipe(descriptorMax: descriptorMax) }
        let move = pipe?.move(
            from: upstream.descriptor, to: client.descriptor, atMost: byteCountMax, rest: &rest)
        guard let move, !move.isUnsupported else { return nil }
        // What the client was to get is still in it.
        if move.isTargetLost { pipe = nil }
        return move
    }
}
