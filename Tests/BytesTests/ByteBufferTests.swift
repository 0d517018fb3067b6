import Bytes
import Testing

@Suite("A byte buffer")
struct ByteBufferTests {
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

    @Test("writes numbers as text", arguments: [0, 7, 10, 255, 65_536, UInt64.max])
    func numbers(number: UInt64) {
        var buffer = ByteBuffer()
        buffer.append(decimal: number)
        buffer.append(UInt8(0x20))
        buffer.append(hexadecimal: number)
        let text = String(decoding: buffer.readable.array, as: UTF8.self)
        #expect(text == "\(number) \(String(number, radix: 16))")
    }
}
