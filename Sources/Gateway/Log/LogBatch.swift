import Bytes
import EventLoop

/// Lines on their way to the log's thread. One thread at a time owns the batch; posting it gives it
/// away.
final class LogBatch: @unchecked Sendable {
    fileprivate(set) var lines: [UInt8] = []
}

/// Batches that have been written and wait to be filled again, so that a line needs no allocation.
final class LogBatches: Sendable {
    private let free = Locked<[LogBatch]>([])

    /// The most batches that are kept. More are in use only if the destination is slow, and their
    /// memory is freed then.
    static let keptCountMax = 64

    /// A batch that holds a copy of `lines`.
    func batch(of lines: Span<UInt8>) -> LogBatch {
        let batch = free.withLock { $0.popLast() } ?? LogBatch()
        batch.lines.replaceAll(with: lines)
        return batch
    }

    /// Takes a batch back that has been read.
    func giveBack(_ batch: LogBatch) {
        free.withLock { free in
            if free.count < Self.keptCountMax { free.append(batch) }
        }
    }
}
