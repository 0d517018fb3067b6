import Bytes
import Testing

@Suite("A byte buffer")
struct ByteBufferTests {}

extension ByteBufferTests {
    @Test("gives back what was appended, in order, across moves and growth")
    func order() {
        var buffer = ByteBuffer(capacity: 8)
        var expected: [UInt8] = []
        for round in 0..<100 {
            let chunk = (0..<round).map { UInt8(truncatingIfNeeded: $0 + round) }
            buffer.append(chunk)
            expected += chunk
            let taken = expected.count / 3
            buffer.consume(taken)
            expected.removeFirst(taken)
            #expect(buffer.readable.array == expected)
        }
        buffer.release()
        #expect(buffer.isEmpty && buffer.capacity == 0)
        let readableCount = buffer.readable.count
        #expect(readableCount == 0)
    }

    @Test(
        "writes numbers as text",
        arguments: [0, 7, 10, 255, 65_536, 0x0123_4567_89AB_CDEF, UInt64.max])
    func numbers(number: UInt64) {
        var buffer = ByteBuffer()
        buffer.append(decimal: number)
        buffer.append(UInt8(0x20))
        buffer.append(hexadecimal: number)
        buffer.append(UInt8(0x20))
        buffer.append(paddedHexadecimal: number)
        let text = String(decoding: buffer.readable.array, as: UTF8.self)
        let digits = String(number, radix: 16)
        let padding = String(repeating: "0", count: 16 - digits.count)
        #expect(text == "\(number) \(digits) \(padding)\(digits)")
    }

    @Test("buffers of a pool use one piece after the other")
    func pooledStorage() {
        let pool = StoragePool(byteCount: 64, keptCountMax: 1)
        var first = ByteBuffer(pool: pool)
        var capacities = [first.capacity]
        first.append("one")
        capacities.append(first.capacity)
        first.release()
        capacities.append(first.capacity)
        #expect(capacities == [0, 64, 0])

        var second = ByteBuffer(pool: pool)
        second.append("two")
        first.append("three")
        let texts = [first.readable.array, second.readable.array]
        #expect(texts == [Array("three".utf8), Array("two".utf8)])
        second.release()
        first.release()
    }

    @Test("a buffer takes a larger piece if it needs one, and gives it back")
    func largerPieces() {
        let pool = StoragePool(
            byteCount: 64, keptCountMax: 1, larger: StoragePool(byteCount: 256, keptCountMax: 1))
        var buffer = ByteBuffer(pool: pool)
        let bytes = (0..<100).map { UInt8($0) }
        buffer.append(bytes.span.extracting(first: 50))
        var capacities = [buffer.capacity]
        buffer.append(bytes.span.extracting(50...))
        capacities.append(buffer.capacity)
        let held = buffer.readable.array
        #expect(held == bytes)
        let address = Self.address(buffer)
        buffer.release()
        // Large at once: the same piece again.
        buffer.append(bytes)
        capacities.append(buffer.capacity)
        #expect(Self.address(buffer) == address)
        buffer.append([UInt8](repeating: 1, count: 200))
        capacities.append(buffer.capacity)
        #expect(capacities == [64, 256, 256, 512])
        let grown = buffer.readable.array
        #expect(grown == bytes + [UInt8](repeating: 1, count: 200))
    }

    private static func address(_ buffer: borrowing ByteBuffer) -> UInt {
        buffer.readable.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }

    @Test("a buffer that outgrows its pool's pieces keeps its bytes, then has memory of its own")
    func outgrownPool() {
        let pool = StoragePool(byteCount: 64, keptCountMax: 4)
        var buffer = ByteBuffer(pool: pool)
        let bytes = (0..<100).map { UInt8($0) }
        for byte in bytes { buffer.append(byte) }
        let held = buffer.readable.array
        #expect(held == bytes)
        let grownCapacity = buffer.capacity
        #expect(grownCapacity >= 100)
        buffer.release()
        buffer.append("again")
        let pooledCapacity = buffer.capacity
        #expect(pooledCapacity == 64)
    }
}
