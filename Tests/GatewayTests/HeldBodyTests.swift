import Bytes
import EventLoop
import Foundation
import GatewayTesting
import TLS
import Testing

@testable import Gateway

@Suite("Held bodies", .timeLimit(.minutes(30)))
struct HeldBodyTests {}

extension HeldBodyTests {
    private func pattern(_ byteCount: Int) -> [UInt8] {
        (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    /// A loop, and threads for the files of its bodies.
    private final class Ground {
        let loop: EventLoop
        let threads = BodyFileThreads()
        let files: BodyFiles
        let directory: String

        init(directory: String = NSTemporaryDirectory(), clock: ManualClock? = nil) throws {
            self.directory = directory
            loop = try EventLoop(clock: clock)
            files = try BodyFiles(
                loop: loop, deadlines: DeadlineWheel(loop: loop), threads: threads)
        }

        deinit { threads.end() }
    }

    /// A body that can be handed on.
    private final class Box: HeldBodyOwner {
        let ground: Ground
        var body: HeldBody
        var failure: IOError?

        init(_ ground: Ground, storage: StoragePool? = nil) {
            self.ground = ground
            body = HeldBody(storage: storage, files: ground.files)
        }

        func bodyFileIsReady() { ground.loop.stop() }

        func bodyFileFailed(_ error: IOError) {
            failure = error
            ground.loop.stop()
        }

        func append(_ bytes: Span<UInt8>, memoryByteCountMax: Int) throws(IOError) {
            try body.append(
                bytes, memoryByteCountMax: memoryByteCountMax, directory: ground.directory,
                patience: 60_000_000_000)
            body.tell(self)
        }

        /// As a client does that waits when it is told to.
        func fill(_ bytes: [UInt8], pieceByteCount: Int, memoryByteCountMax: Int) throws {
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + pieceByteCount)
                try append(
                    bytes.span.extracting(start..<end), memoryByteCountMax: memoryByteCountMax)
                start = end
                while body.isBehind { ground.loop.run() }
            }
            while failure == nil, !body.end() { ground.loop.run() }
        }

        func bytesAtHand(from offset: Int) -> Int {
            while true {
                let count = body.bytesAtHand(from: offset)
                if count > 0 || offset == body.byteCount { return count }
                ground.loop.run()
            }
        }

        var byteCount: Int { body.byteCount }
        var isInMemory: Bool { body.isInMemory }
        var isBehind: Bool { body.isBehind }
        var capacity: Int { body.memoryCapacity }
        func whole(pieceByteCount: Int = .max) throws -> [UInt8] {
            if body.isInMemory { return body.withMemory { memory in memory.array } }
            var copy = ByteBuffer()
            while copy.count < body.byteCount {
                let count = min(bytesAtHand(from: copy.count), pieceByteCount)
                if try body.read(at: copy.count, into: &copy, atMost: count) == 0 { break }
            }
            return copy.readable.array
        }
    }

    @Test("that are large lie in storage that is lent, and small ones in memory of their own")
    func storage() throws {
        let box = Box(
            try Ground(), storage: StoragePool(byteCount: 16 * 1024, keptCountMax: 1))
        for _ in 0..<2 {
            try box.fill(pattern(5000), pieceByteCount: 5000, memoryByteCountMax: 100_000)
            #expect(box.capacity == 16 * 1024)
            #expect(try box.whole() == pattern(5000))
            box.body.reset()
            #expect(box.capacity == 0)
            try box.fill(pattern(64), pieceByteCount: 64, memoryByteCountMax: 100_000)
            #expect(box.capacity == 64)
            #expect(try box.whole() == pattern(64))
            box.body.reset()
            // What a small one had is kept for the next.
            #expect(box.capacity == 64)
            try box.fill(pattern(9000), pieceByteCount: 9000, memoryByteCountMax: 100_000)
            box.body.reset()
        }
    }

    @Test("that come in one-byte pieces are written to their file in large ones")
    func writes() throws {
        let bytes = pattern(300_000)
        let box = Box(try Ground())
        let queue = try box.ground.threads.directory(box.ground.directory).queue()
        let before = try writeCount(of: queue)
        // All on that thread: every fourth file is.
        for _ in 0..<3 { _ = try box.ground.threads.directory(box.ground.directory).queue() }
        try box.fill(bytes, pieceByteCount: 1, memoryByteCountMax: 1000)
        // Each wakes the worker's loop, by one more.
        #expect(try writeCount(of: queue) - before <= 2 * (300_000 / BodyFile.writeByteCount + 3))
        #expect(try box.whole() == bytes)
    }

    /// System calls of a thread that have written something.
    private func writeCount(of queue: BodyFileDirectory.Queue) throws -> Int {
        let text = Locked<String?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        #expect(
            queue.post {
                let io = try? String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
                text.withLock { $0 = io }
                isDone.signal()
            })
        isDone.wait()
        let lines = try #require(text.withLock { $0 }).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("syscw: ") })
        return try #require(Int(line.dropFirst(7)))
    }

    @Test("move to a file when memory is full, at every edge", arguments: [1, 99, 100, 101, 1000])
    func edges(pieceByteCount: Int) throws {
        let ground = try Ground()
        for byteCount in [0, 1, 99, 100, 101, 250, 1000, 16_384, 16_500, 40_000, 70_000] {
            let bytes = pattern(byteCount)
            let box = Box(ground)
            try box.fill(bytes, pieceByteCount: pieceByteCount, memoryByteCountMax: 100)
            #expect(box.byteCount == byteCount)
            #expect(box.isInMemory == (byteCount <= 100))
            #expect(try box.whole() == bytes)
        }
    }

    @Test("are read from their file in pieces of any size, also again, and end where they end")
    func pieces() throws {
        let bytes = pattern(3_000_000)
        let box = Box(try Ground())
        try box.fill(bytes, pieceByteCount: 33_333, memoryByteCountMax: 10)
        for pieceByteCount in [777, 65_536, 1 << 20, 1 << 24] {
            #expect(try box.whole(pieceByteCount: pieceByteCount) == bytes)
        }
        #expect(box.bytesAtHand(from: bytes.count) == 0)
    }

    @Test("go from their file to a socket without being read, but for their end in memory")
    func sent() throws {
        let bytes = pattern(75_000)
        let box = Box(try Ground())
        try box.fill(bytes, pieceByteCount: 70_000, memoryByteCountMax: 10)
        let (near, far) = try Socket.pair()
        defer { Socket.close(far) }
        let transport = Transport(watch: Watch(loop: box.ground.loop, descriptor: near))
        defer { transport.close(.complete) }
        let first = box.body.send(from: 10, to: transport, atMost: 90)
        #expect(first == .bytes(90))
        guard case .bytes(let count) = box.body.send(from: 100, to: transport, atMost: bytes.count)
        else { throw IOError("socket", .busy) }
        let end = 100 + count
        #expect(end < bytes.count)
        #expect(box.bytesAtHand(from: end) == bytes.count - end)
        let last = box.body.send(from: end, to: transport, atMost: 1)
        #expect(last == nil)
        var received = ByteBuffer()
        while case .bytes = Socket.read(far, into: &received, atMost: 1 << 16) {}
        let array = received.readable.array
        #expect(array == Array(bytes[10..<end]))
        // Nothing of what lies in memory.
        let small = Box(box.ground)
        try small.fill(pattern(100), pieceByteCount: 100, memoryByteCountMax: 100)
        let none = small.body.send(from: 0, to: transport, atMost: 100)
        #expect(none == nil)
    }

    @Test("a directory that cannot take a file is an error that is told")
    func directoryMissing() throws {
        let box = Box(try Ground(directory: "/does/not/exist"))
        try box.append(pattern(100).span, memoryByteCountMax: 100)
        #expect(box.isInMemory)
        try box.append(pattern(1).span, memoryByteCountMax: 100)
        box.ground.loop.run()
        #expect(box.failure == IOError("/does/not/exist", .notFound))
        #expect(throws: IOError.self) {
            try box.append(pattern(1).span, memoryByteCountMax: 100)
        }
        // One that fails at once is no reason to refuse the next.
        box.body.reset()
        box.failure = nil
        try box.append(pattern(200).span, memoryByteCountMax: 100)
    }

    @Test("are empty and in memory again after a reset")
    func reset() throws {
        let box = Box(try Ground())
        try box.fill(pattern(1000), pieceByteCount: 10, memoryByteCountMax: 10)
        box.body.reset()
        #expect(box.byteCount == 0)
        #expect(box.isInMemory)
        #expect(try box.whole().isEmpty)
    }

    @Test("a file system that does not answer fails them in time, and takes no more until it does")
    func stuck() throws {
        let clock = ManualClock(now: MonotonicInstant(nanoseconds: 1), wallMilliseconds: 0)
        let ground = try Ground(clock: clock)
        let directory = ground.threads.directory(ground.directory)
        let mayGoOn = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
            #expect(try directory.queue().post { mayGoOn.wait() })
        }
        let box = Box(ground)
        for _ in 0..<2 { try box.append(pattern(300_000).span, memoryByteCountMax: 100) }
        #expect(box.isBehind)
        clock.now = clock.now + .seconds(59)
        ground.loop.runUntilIdle()
        #expect(box.failure == nil)
        clock.now = clock.now + .seconds(2)
        ground.loop.runUntilIdle()
        #expect(box.failure == BodyFile.timeout(ground.directory))
        #expect(directory.isStuck)
        // Others are not made to wait.
        let next = Box(ground)
        #expect(throws: BodyFile.timeout(ground.directory)) {
            try next.append(pattern(101).span, memoryByteCountMax: 100)
        }
        #expect(next.isInMemory)
        box.body.reset()

        for _ in 0..<4 { mayGoOn.signal() }
        try repeatWhile(directory.isStuck) { ground.loop.runUntilIdle() }
        try next.append(pattern(101).span, memoryByteCountMax: 100)
        try repeatWhile(!next.body.end()) { ground.loop.runUntilIdle() }
        #expect(try next.whole() == pattern(101))
    }
}
