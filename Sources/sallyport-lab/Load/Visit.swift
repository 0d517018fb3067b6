import Bytes
import EventLoop
import HTTP

/// One client of a ``VisitRun``.
final class Visit: ReadinessHandler {
    private static let limits = HeadLimits(
        headByteCountMax: 64 * 1024, fieldCountMax: 200, targetByteCountMax: 8 * 1024)

    private unowned let run: VisitRun
    private let request: [UInt8]
    /// The index of the phase in which it was due.
    let phase: Int
    let tenth: Int
    /// The time at which it gives up.
    let until: MonotonicInstant
    private var descriptor: Int32 = -1
    private var watch: Watch?
    private var input = ByteBuffer()
    private(set) var isOver = false

    init(
        _ run: VisitRun, _ request: [UInt8], _ phase: Int, _ tenth: Int,
        until: MonotonicInstant
    ) {
        self.run = run
        self.request = request
        self.phase = phase
        self.tenth = tenth
        self.until = until
    }

    func open() {
        switch Socket.connect(to: run.address, from: run.nextSource()) {
        case .connected(let raw), .inProgress(let raw):
            descriptor = raw
            watch = Watch(loop: run.loop, descriptor: raw, handler: self)
            watch?.enableWriting()
        case .failed: run.isLost(self)
        }
    }

    func descriptorIsWritable() {
        guard Socket.connectError(descriptor) == 0 else { return run.isLost(self) }
        let bytes = request
        let outcome = Socket.write(descriptor, bytes.span)
        guard outcome == .bytes(bytes.count) else { return run.isLost(self) }
        watch?.disableWriting()
        watch?.enableReading()
    }

    func descriptorIsReadable() {
        switch Socket.read(descriptor, into: &input, atMost: 16 * 1024) {
        case .bytes: readAnswer()
        case .wouldBlock: return
        case .endOfFile, .failed: run.isLost(self)
        }
    }

    private func readAnswer() {
        var head = ResponseHead()
        let outcome = head.parse(
            input.readable, limits: Self.limits, requestMethodKind: .post)
        switch outcome {
        case .incomplete: return
        case .refused: return run.isLost(self)
        case .complete: break
        }
        guard case .length(let byteCount) = head.framing else { return run.isLost(self) }
        guard input.count - head.byteCount >= Int(clamping: byteCount) else { return }
        run.isAnswered(self, status: head.status)
    }

    /// Closes the connection, which is the only sign for the gateway.
    func end() {
        guard !isOver else { return }
        isOver = true
        watch?.cancel()
        watch = nil
        if descriptor >= 0 { Socket.close(descriptor) }
        run.isOver(self)
    }
}
