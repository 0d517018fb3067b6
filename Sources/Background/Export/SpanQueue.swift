import EventLoop
package import OTLP

/// Finished spans on their way from the workers to the export. The queue is bounded: a slow or
/// absent collector costs spans, and never a request's time.
package final class SpanQueue: Sendable {
    private struct State {
        var batches: [SpanBatch] = []
        var byteCount = 0
        var isOpen = false
    }

    private let state = Locked(State())
    private let meter: ExportMeter

    package init(meter: ExportMeter) { self.meter = meter }

    /// Adds the spans of one turn of a worker's loop.
    package func post(_ batch: SpanBatch) {
        let isTaken = state.withLock { state in
            guard state.isOpen, state.byteCount + batch.bytes.count <= Self.byteCountMax else {
                return false
            }
            state.batches.append(batch)
            state.byteCount += batch.bytes.count
            return true
        }
        if !isTaken { meter.drop(batch.spanCount, .queueFull) }
    }

    /// Takes the oldest batches, about as much as one request may hold.
    package func take() -> [SpanBatch] {
        state.withLock { state in
            var byteCount = 0
            var count = 0
            while count < state.batches.count, byteCount < Self.requestByteCountMax {
                byteCount += state.batches[count].bytes.count
                count += 1
            }
            let taken = Array(state.batches.prefix(count))
            state.batches.removeFirst(count)
            state.byteCount -= byteCount
            return taken
        }
    }

    package func open() { state.withLock { $0.isOpen = true } }

    /// Takes no more spans, and drops those that wait.
    package func close() {
        let lostCount = state.withLock { state in
            let count = state.batches.reduce(0) { $0 + $1.spanCount }
            state = State()
            return count
        }
        meter.drop(lostCount, .undelivered)
    }

    /// The most bytes, of some 8000 spans.
    package static let byteCountMax = 8 * 1024 * 1024
    /// The size at which a request is full enough, half of its limit because one more batch may
    /// follow. Collectors accept at most 4 MiB at once by default.
    package static let requestByteCountMax = 1024 * 1024
}
