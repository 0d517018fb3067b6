import Bytes
import EventLoop

/// Runs a closure for each call of a watch and counts them.
final class ClosureHandler: ReadinessHandler {
    var watch: Watch?
    var onReadable: (ClosureHandler) -> Void = { _ in }
    var onWritable: (ClosureHandler) -> Void = { _ in }
    private(set) var readableCount = 0
    private(set) var writableCount = 0

    init(loop: EventLoop, descriptor: Int32) {
        watch = Watch(loop: loop, descriptor: descriptor, handler: self)
    }

    func descriptorIsReadable() {
        readableCount += 1
        onReadable(self)
    }

    func descriptorIsWritable() {
        writableCount += 1
        onWritable(self)
    }
}

/// Sends back what it receives; stops reading while it holds too much. Closes at the end.
final class EchoPeer: ReadinessHandler {
    private let descriptor: Int32
    private let watch: Watch
    private let heldByteCountMax: Int
    private var held = ByteBuffer()
    private var isAtEnd = false
    private(set) var pauseCount = 0

    init(loop: EventLoop, descriptor: Int32, heldByteCountMax: Int) {
        self.descriptor = descriptor
        self.heldByteCountMax = heldByteCountMax
        watch = Watch(loop: loop, descriptor: descriptor)
        watch.handler = self
        watch.enableReading()
    }

    func descriptorIsReadable() {
        switch Socket.read(descriptor, into: &held, atMost: 4096) {
        case .bytes, .wouldBlock: flush()
        case .endOfFile, .failed:
            isAtEnd = true
            watch.disableReading()
            flush()
        }
        if held.count > heldByteCountMax {
            pauseCount += 1
            watch.disableReading()
        }
    }

    func descriptorIsWritable() { flush() }

    private func flush() {
        while !held.isEmpty {
            guard case .bytes(let count) = Socket.write(descriptor, held.readable) else {
                watch.enableWriting()
                return
            }
            held.consume(count)
        }
        watch.disableWriting()
        if isAtEnd {
            watch.cancel()
            Socket.close(descriptor)
        } else {
            watch.enableReading()
        }
    }
}

/// Sends bytes as fast as it may, reads more slowly than the echo sends, and only once it cannot
/// send. Closes when all came back.
final class SendingPeer: ReadinessHandler {
    private let descriptor: Int32
    private let watch: Watch
    private var rest = ByteBuffer()
    private(set) var received = ByteBuffer()
    private(set) var wouldBlockCount = 0

    init(loop: EventLoop, descriptor: Int32, bytes: [UInt8]) {
        self.descriptor = descriptor
        rest.append(bytes)
        watch = Watch(loop: loop, descriptor: descriptor)
        watch.handler = self
        watch.enableWriting()
    }

    func descriptorIsWritable() {
        while !rest.isEmpty {
            guard case .bytes(let count) = Socket.write(descriptor, rest.readable) else {
                wouldBlockCount += 1
                watch.enableReading()
                return
            }
            rest.consume(count)
        }
        watch.disableWriting()
        watch.enableReading()
        Socket.shutdownWrite(descriptor)
    }

    func descriptorIsReadable() {
        switch Socket.read(descriptor, into: &received, atMost: 1024) {
        case .bytes, .wouldBlock: return
        case .endOfFile, .failed:
            watch.cancel()
            Socket.close(descriptor)
        }
    }
}
