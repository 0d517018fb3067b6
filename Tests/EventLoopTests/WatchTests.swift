import Bytes
import EventLoop
import Testing

@Suite("A watch")
struct WatchTests {}

extension WatchTests {
    @Test("carries a megabyte through a peer that echoes under back-pressure")
    func echo() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        let echo = EchoPeer(loop: loop, descriptor: far, heldByteCountMax: 10_000)
        let sent = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let client = SendingPeer(loop: loop, descriptor: near, bytes: sent)
        loop.run()
        let received = client.received.readable.array
        #expect(received == sent)
        #expect(echo.pauseCount > 0)
        #expect(client.wouldBlockCount > 0)
    }

    @Test("may be cancelled inside its own call, and says nothing afterwards")
    func cancelInside() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        let handler = ClosureHandler(loop: loop, descriptor: near)
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        handler.onReadable = { handler in
            handler.watch?.cancel()
            #expect(handler.watch?.isReading == false)
        }
        handler.watch?.enableReading()
        _ = Socket.write(far, [1].span)
        // Nothing is registered any more, so the loop ends.
        loop.run()
        #expect(handler.readableCount == 1)
    }

    @Test("may be dropped inside its own call, with its other event pending")
    func dropInside() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        let handler = ClosureHandler(loop: loop, descriptor: near)
        handler.onReadable = { $0.watch = nil }
        handler.onWritable = { $0.watch = nil }
        handler.watch?.enableReading()
        handler.watch?.enableWriting()
        _ = Socket.write(far, [1].span)
        loop.run()
        // Both were ready in one turn; whichever came first took the other away.
        #expect(handler.readableCount + handler.writableCount == 1)
    }

    @Test("is silent once a neighbour's call of the same turn has ended its handler")
    func neighbour() throws {
        let loop = try EventLoop()
        let first = try Socket.pair()
        let second = try Socket.pair()
        defer {
            for end in [first.0, first.1, second.0, second.1] { Socket.close(end) }
        }
        let counter = CallCounter()
        let handlers = HandlerPair()
        for (descriptor, isFirst) in [(first.0, true), (second.0, false)] {
            let handler = ClosureHandler(loop: loop, descriptor: descriptor)
            handler.onReadable = { [unowned handlers] handler in
                counter.count += 1
                handler.watch = nil
                if isFirst { handlers.second = nil } else { handlers.first = nil }
            }
            if isFirst { handlers.first = handler } else { handlers.second = handler }
            handler.watch?.enableReading()
        }
        _ = Socket.write(first.1, [1].span)
        _ = Socket.write(second.1, [1].span)
        loop.run()
        #expect(counter.count == 1)
    }

    @Test("can be enabled and disabled any number of times between two turns")
    func toggling() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        let handler = ClosureHandler(loop: loop, descriptor: near)
        for _ in 0..<3 {
            handler.watch?.enableReading()
            handler.watch?.enableReading()
            handler.watch?.disableReading()
            handler.watch?.disableReading()
        }
        handler.watch?.enableWriting()
        handler.onWritable = { $0.watch?.disableWriting() }
        _ = Socket.write(far, [1].span)
        loop.run()
        #expect(handler.readableCount == 0)
        #expect(handler.writableCount == 1)
    }

    @Test("tells of a reset after the peer's end, and does not repeat that end meanwhile")
    func watchChanges() throws {
        let loop = try EventLoop()
        let (near, far) = try tcpPair()
        let handler = ClosureHandler(loop: loop, descriptor: near)
        var turnCount = 0
        // Turns that the end of the stream would fill with calls; then the peer resets.
        var hook: TurnEndHook?
        defer { hook = nil }
        hook = TurnEndHook(loop: loop) {
            turnCount += 1
            if turnCount < 100 { hook?.schedule() } else { Socket.closeWithReset(far) }
        }
        var buffer = ByteBuffer()
        handler.onReadable = { handler in
            guard handler.watch?.isReading == true else {
                if Socket.isGone(near) { handler.watch = nil }
                return
            }
            if Socket.read(near, into: &buffer, atMost: 100) == .endOfFile {
                handler.watch?.watchChanges()
                hook?.schedule()
            }
        }
        handler.watch?.enableReading()
        Socket.shutdownWrite(far)
        loop.run()
        Socket.close(near)
        #expect(turnCount == 100)
        // The end, the same again for what is so already, the reset.
        #expect(handler.readableCount == 3)
    }

    @Test("writes as ever while it watches for changes, and reads again afterwards")
    func changesAndWriting() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        let block = [UInt8](repeating: 7, count: 64 * 1024)
        var scrap = ByteBuffer()
        var rest = 1_000_000
        let peer = ClosureHandler(loop: loop, descriptor: far)
        peer.onReadable = { _ in _ = Socket.read(far, into: &scrap, atMost: 1 << 20) }
        let handler = ClosureHandler(loop: loop, descriptor: near)
        handler.onWritable = { handler in
            while rest > 0 {
                let piece = block.span.extracting(0..<min(rest, block.count))
                guard case .bytes(let count) = Socket.write(near, piece) else { return }
                rest -= count
            }
            handler.watch?.disableWriting()
            handler.watch?.enableReading()
        }
        handler.onReadable = { handler in
            guard handler.watch?.isReading == true else { return }
            handler.watch = nil
            peer.watch = nil
        }
        _ = Socket.write(far, [1].span)
        handler.watch?.enableReading()
        handler.watch?.watchChanges()
        handler.watch?.enableWriting()
        peer.watch?.enableReading()
        loop.run()
        _ = Socket.read(far, into: &scrap, atMost: 1 << 20)
        #expect(scrap.count == 1_000_000)
    }

    @Test("calls a handler again that stopped early, also while it watches for changes")
    func repeatWriting() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        let handler = ClosureHandler(loop: loop, descriptor: near)
        handler.onWritable = { handler in
            handler.watch?.repeatWriting()
            if handler.writableCount == 3 { handler.watch = nil }
        }
        // Ends the wait for a call that does not come.
        var turnCount = 0
        var hook: TurnEndHook?
        defer { hook = nil }
        hook = TurnEndHook(loop: loop) {
            turnCount += 1
            if turnCount < 100 { hook?.schedule() } else { handler.watch = nil }
        }
        hook?.schedule()
        handler.watch?.watchChanges()
        handler.watch?.enableWriting()
        loop.run()
        #expect(handler.writableCount == 3)
    }

    /// Two ends of a connection over the loopback, where a reset is a message of its own.
    private func tcpPair() throws -> (near: Int32, far: Int32) {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: address)
        defer { Socket.close(listener) }
        let bound = try #require(Socket.localAddress(listener))
        let far: Int32
        switch Socket.connect(to: bound) {
        case .connected(let descriptor), .inProgress(let descriptor): far = descriptor
        case .failed(let code): throw IOError("connect", errno: code)
        }
        while true {
            if case .accepted(let near, _) = Socket.accept(listener) { return (near, far) }
        }
    }

    @Test("tells of the end of the stream")
    func endOfFile() throws {
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        let handler = ClosureHandler(loop: loop, descriptor: near)
        var outcomes: [ReadOutcome] = []
        var buffer = ByteBuffer()
        handler.onReadable = { handler in
            let outcome = Socket.read(near, into: &buffer, atMost: 100)
            outcomes.append(outcome)
            if outcome == .endOfFile { handler.watch = nil }
        }
        handler.watch?.enableReading()
        _ = Socket.write(far, [1, 2].span, [3].span)
        Socket.shutdownWrite(far)
        loop.run()
        #expect(outcomes == [.bytes(3), .endOfFile])
        let received = buffer.readable.array
        #expect(received == [1, 2, 3])
    }
}

final class CallCounter {
    var count = 0
}

final class HandlerPair {
    var first: ClosureHandler?
    var second: ClosureHandler?
}
