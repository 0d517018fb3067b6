public import Bytes
import CLibevent
import CLinux

/// Moves bytes from one socket to another without copying them through the process (splice(2)).
///
/// The pipe between them is empty between two moves, so that one serves all sockets of a thread.
/// SIGPIPE must be ignored.
public struct SplicePipe: ~Copyable {
    /// The result of one move.
    public struct Move: Hashable, Sendable {
        /// The result of reading from the source.
        public var read: ReadOutcome
        /// The target accepts no more bytes, ever: what was read is lost.
        public var isTargetLost = false

        public init(read: ReadOutcome, isTargetLost: Bool = false) {
            self.read = read
            self.isTargetLost = isTargetLost
        }

        /// True if the kernel cannot splice from such a socket; nothing has been read from it.
        public var isUnsupported: Bool { read == .failed(errno: EINVAL) }
    }

    private static let byteCount: Int32 = 256 * 1024

    private let output: Descriptor
    private let input: Descriptor

    /// Throws ``IOError/Reason/outOfDescriptors`` also if its descriptors would not be below
    /// `descriptorMax`.
    public init(descriptorMax: Int32 = .max) throws(IOError) {
        let ends = try Descriptor.pipe(for: "pipe", O_NONBLOCK)
        let output = Descriptor(owning: ends.read)
        let input = Descriptor(owning: ends.write)
        // Each piece takes the place of a page whatever its size, and pieces from a network are
        // small.
        sallyport_set_pipe_capacity(ends.read, Self.byteCount)
        guard max(ends.read, ends.write) < descriptorMax else {
            throw IOError("pipe", .outOfDescriptors)
        }
        self.output = output
        self.input = input
    }

    /// Moves at most `byteCountMax` bytes that have come at `source` to `target`, and appends to
    /// `rest` the bytes that the target does not take for now.
    ///
    /// After the loss of the target the pipe must not be used any more.
    public borrowing func move(
        from source: Int32, to target: Int32, atMost byteCountMax: Int, rest: inout ByteBuffer
    ) -> Move {
        var waiting: Int
        switch splice(source, input.raw, byteCountMax) {
        case .bytes(0): return Move(read: .endOfFile)
        case .bytes(let count): waiting = count
        case .wouldBlock: return Move(read: .wouldBlock)
        case .failed(let code): return Move(read: .failed(errno: code))
        }
        let move = Move(read: .bytes(waiting))
        while waiting > 0 {
            switch splice(output.raw, target, waiting) {
            case .bytes(let count): waiting -= count
            case .wouldBlock:
                keep(waiting, in: &rest)
                return move
            case .failed: return Move(read: move.read, isTargetLost: true)
            }
        }
        return move
    }

    private borrowing func splice(_ source: Int32, _ target: Int32, _ count: Int) -> WriteOutcome {
        while true {
            let moved = sallyport_splice(source, target, count)
            if moved >= 0 { return .bytes(moved) }
            let code = sallyport_errno()
            if code == EAGAIN { return .wouldBlock }
            Socket.trapOwnMistake(code, "splice")
            if code != EINTR { return .failed(errno: code) }
        }
    }

    /// Reads the last `byteCount` bytes of the pipe.
    private borrowing func keep(_ byteCount: Int, in rest: inout ByteBuffer) {
        var missing = byteCount
        while missing > 0 {
            let count = unsafe rest.withUnsafeWritable(minimumCount: missing) { target in
                unsafe read(output.raw, target.baseAddress, missing)
            }
            // The bytes are in memory, so neither a wait nor a failure is possible.
            precondition(count > 0, "read: \(IOError.text(errno: sallyport_errno()))")
            missing -= count
        }
    }
}
