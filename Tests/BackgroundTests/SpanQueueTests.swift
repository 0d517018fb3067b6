import Background
import OTLP
import Testing

@Suite("The queue of spans")
struct SpanQueueTests {}

extension SpanQueueTests {
    private static func batch(_ byteCount: Int, spans: Int = 3) -> SpanBatch {
        SpanBatch(bytes: Array(repeating: 0x78, count: byteCount), spanCount: spans)
    }

    @Test("gives what came, in its order, as much at once as a request is to hold")
    func order() {
        let queue = SpanQueue(meter: ExportMeter())
        queue.open()
        for index in 1...5 {
            queue.post(Self.batch(SpanQueue.requestByteCountMax / 2, spans: index))
        }
        #expect(queue.take().map(\.spanCount) == [1, 2])
        #expect(queue.take().map(\.spanCount) == [3, 4])
        #expect(queue.take().map(\.spanCount) == [5])
        #expect(queue.take().isEmpty)
    }

    @Test("takes no more than its bound, and counts the spans that it did not take")
    func bound() {
        let meter = ExportMeter()
        let queue = SpanQueue(meter: meter)
        queue.open()
        for _ in 0..<9 { queue.post(Self.batch(SpanQueue.byteCountMax / 8)) }
        #expect(meter.value(.queueFull) == 3)
        queue.post(Self.batch(1))
        #expect(meter.value(.queueFull) == 6)
        // What is taken makes room.
        #expect(queue.take().count == 1)
        queue.post(Self.batch(SpanQueue.byteCountMax / 8))
        #expect(meter.value(.queueFull) == 6)
        var count = 0
        while case let batches = queue.take(), !batches.isEmpty { count += batches.count }
        #expect(count == 8)
    }

    @Test("takes nothing while the export is off, and counts what it held at the end")
    func closed() {
        let meter = ExportMeter()
        let queue = SpanQueue(meter: meter)
        queue.post(Self.batch(1))
        #expect(meter.value(.queueFull) == 3)
        queue.open()
        queue.post(Self.batch(1))
        queue.post(Self.batch(1))
        queue.close()
        #expect(meter.value(.undelivered) == 6)
        #expect(queue.take().isEmpty)
        queue.open()
        #expect(queue.take().isEmpty)
    }
}
