import Bytes
import EventLoop
import Foundation
import TLS
import Testing

@testable import Gateway

@Suite("Held bodies")
struct HeldBodyTests {
    private func pattern(_ byteCount: Int) -> [UInt8] {
        (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    /// A body that can be handed on.
    private final class Box {
        var body: HeldBody

        init(storage: StoragePool? = nil) { body = HeldBody(storage: storage) }

        func fill(_ bytes: [UInt8], pieceByteCount: Int, memoryByteCountMax: Int) throws {
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + pieceByteCount)
                try body.append(
                    bytes.span.extracting(start..<end), memoryByteCountMax: memoryByteCountMax,
                    directory: NSTemporaryDirectory())
                start = end
            }
        }

        var byteCount: Int { body.byteCount }
        var isInMemory: Bool { body.isInMemory }
        var capacity: Int { body.memory.capacity }
        func whole() throws -> [UInt8] {
            if body.isInMemory { return body.withMemory { memory in memory.array } }
            var copy = ByteBuffer()
            while copy.count < body.byteCount {
                let rest = body.byteCount - copy.count
                if try body.read(at: copy.count, into: &copy, atMost: rest) == 0 { break }
            }
            return copy.readable.array
        }

        func append(_ bytes: [UInt8], directory: String) -> IOError? {
            do throws(IOError) {
                try body.append(bytes.span, memoryByteCountMax: 100, directory: directory)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("that are large lie in storage that is lent, and small ones in memory of their own")
    func storage() throws {
        let box = Box(storage: StoragePool(byteCount: 16 * 1024, keptCountMax: 1))
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
        let bytes = pattern(100_000)
        let box = Box()
        let before = try writeCount()
        try box.fill(bytes, pieceByteCount: 1, memoryByteCountMax: 1000)
        #expect(try writeCount() - before <= 100_000 / (16 * 1024) + 2)
        #expect(try box.whole() == bytes)
    }

    /// System calls of this thread that have written something.
    private func writeCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw: ") })
        return try #require(Int(line.dropFirst(7)))
    }

    @Test("move to a file when memory is full, at every edge", arguments: [1, 99, 100, 101, 1000])
    func edges(pieceByteCount: Int) throws {
        for byteCount in [0, 1, 99, 100, 101, 250, 1000, 16_384, 16_500, 40_000] {
            let bytes = pattern(byteCount)
            let box = Box()
            try box.fill(bytes, pieceByteCount: pieceByteCount, memoryByteCountMax: 100)
            #expect(box.byteCount == byteCount)
            #expect(box.isInMemory == (byteCount <= 100))
            #expect(try box.whole() == bytes)
        }
    }

    @Test("are read from their file in pieces of any size, and end where they end")
    func pieces() throws {
        let bytes = pattern(1000)
        let box = Box()
        try box.fill(bytes, pieceByteCount: 333, memoryByteCountMax: 10)
        for pieceByteCount in [1, 7, 64, 999, 1000, 2000] {
            var read = ByteBuffer()
            while true {
                let count = try box.body.read(
                    at: read.count, into: &read, atMost: pieceByteCount)
                if count == 0 { break }
            }
            let array = read.readable.array
            #expect(array == bytes)
        }
    }

    @Test("go from their file to a socket without being read, but for their end in memory")
    func sent() throws {
        let bytes = pattern(20_000)
        let box = Box()
        try box.fill(bytes, pieceByteCount: 4096, memoryByteCountMax: 10)
        let loop = try EventLoop()
        let (near, far) = try Socket.pair()
        defer { Socket.close(far) }
        let transport = Transport(loop: loop, descriptor: near)
        defer { transport.close(.complete) }
        #expect(box.body.send(from: 10, to: transport, atMost: 90) == .bytes(90))
        let tail = box.body.memory.count
        #expect(tail > 0)
        let fileByteCount = bytes.count - tail
        #expect(
            box.body.send(from: 100, to: transport, atMost: bytes.count)
                == .bytes(fileByteCount - 100))
        #expect(box.body.send(from: fileByteCount, to: transport, atMost: 1) == nil)
        var received = ByteBuffer()
        while case .bytes = Socket.read(far, into: &received, atMost: 1 << 16) {}
        let array = received.readable.array
        #expect(array == Array(bytes[10..<fileByteCount]))
        // Nothing of what lies in memory.
        let small = Box()
        try small.fill(pattern(100), pieceByteCount: 100, memoryByteCountMax: 100)
        #expect(small.body.send(from: 0, to: transport, atMost: 100) == nil)
    }

    @Test("a directory that cannot take a file is an error, and what was held stays")
    func directoryMissing() throws {
        let box = Box()
        let missing = "/does/not/exist"
        #expect(box.append(pattern(100), directory: missing) == nil)
        #expect(box.append(pattern(1), directory: missing)?.reason == .notFound)
        #expect(box.byteCount == 100)
        #expect(box.isInMemory)
    }

    @Test("are empty and in memory again after a reset")
    func reset() throws {
        let box = Box()
        try box.fill(pattern(1000), pieceByteCount: 10, memoryByteCountMax: 10)
        box.body.reset()
        #expect(box.byteCount == 0)
        #expect(box.isInMemory)
        #expect(try box.whole().isEmpty)
    }
}
