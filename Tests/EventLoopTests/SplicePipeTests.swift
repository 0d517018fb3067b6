import Bytes
import EventLoop
import Testing

@Suite("A splice pipe")
struct SplicePipeTests {
    /// Two connections: what is written to `source` comes to the near end, and what goes to the
    /// near end of the other one comes to `target`.
    private final class Sockets {
        let source: Int32
        let from: Int32
        let to: Int32
        let target: Int32

        init() throws {
            (source, from) = try Socket.pair()
            (to, target) = try Socket.pair()
        }

        deinit { for descriptor in [source, from, to, target] { Socket.close(descriptor) } }

        func send(_ bytes: [UInt8]) {
            #expect(Socket.write(source, bytes.span) == .bytes(bytes.count))
        }

        func received() -> [UInt8] {
            var buffer = ByteBuffer()
            while case .bytes = Socket.read(target, into: &buffer, atMost: 1 << 20) {}
            return buffer.readable.array
        }

        /// Fills the way to the target, and returns how many bytes that took.
        func fill() -> Int {
            var byteCount = 0
            let block = [UInt8](repeating: 0, count: 4096)
            while case .bytes(let count) = Socket.write(to, block.span) { byteCount += count }
            return byteCount
        }
    }

    private let pattern = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
}

extension SplicePipeTests {
    @Test("moves what has come, at most so much of it, and says when nothing has")
    func moves() throws {
        let pipe = try SplicePipe()
        let sockets = try Sockets()
        var rest = ByteBuffer()
        var move = pipe.move(from: sockets.from, to: sockets.to, atMost: 50, rest: &rest)
        #expect(move == SplicePipe.Move(read: .wouldBlock))
        sockets.send(Array(pattern[..<80]))
        move = pipe.move(from: sockets.from, to: sockets.to, atMost: 50, rest: &rest)
        #expect(move == SplicePipe.Move(read: .bytes(50)))
        move = pipe.move(from: sockets.from, to: sockets.to, atMost: 50, rest: &rest)
        #expect(move == SplicePipe.Move(read: .bytes(30)))
        #expect(sockets.received() == Array(pattern[..<80]))
        Socket.shutdownWrite(sockets.source)
        move = pipe.move(from: sockets.from, to: sockets.to, atMost: 50, rest: &rest)
        #expect(move == SplicePipe.Move(read: .endOfFile))
        #expect(rest.count == 0)
    }

    @Test("keeps in order what the target does not take, and holds nothing itself")
    func rest() throws {
        let pipe = try SplicePipe()
        let sockets = try Sockets()
        let fillerCount = sockets.fill()
        sockets.send(pattern)
        var rest = ByteBuffer()
        var movedCount = 0
        while case .bytes(let count) = pipe.move(
            from: sockets.from, to: sockets.to, atMost: 1 << 16, rest: &rest
        ).read {
            movedCount += count
        }
        #expect(movedCount == pattern.count)
        #expect(rest.count > 0)
        let kept = rest.readable.array
        #expect(Array(sockets.received().dropFirst(fillerCount)) + kept == pattern)
        // What other sockets get is their own.
        let others = try Sockets()
        others.send([1, 2, 3])
        var none = ByteBuffer()
        _ = pipe.move(from: others.from, to: others.to, atMost: 50, rest: &none)
        #expect(others.received() == [1, 2, 3])
    }

    @Test("tells a lost target from a lost source")
    func losses() throws {
        let pipe = try SplicePipe()
        let sockets = try Sockets()
        sockets.send([1, 2, 3])
        // The gateway ignores the signal, as who uses a pipe must.
        SignalWatch.ignoreBrokenPipes()
        Socket.shutdownWrite(sockets.to)
        var rest = ByteBuffer()
        let move = pipe.move(from: sockets.from, to: sockets.to, atMost: 50, rest: &rest)
        #expect(move == SplicePipe.Move(read: .bytes(3), isTargetLost: true))
        #expect(rest.count == 0)
    }

    @Test("needs two descriptors below a limit")
    func descriptors() throws {
        #expect(throws: IOError("pipe", .outOfDescriptors)) { _ = try SplicePipe(descriptorMax: 1) }
    }
}
