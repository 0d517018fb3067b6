import Bytes
import EventLoop

/// Lines on their way to the log's thread. One thread at a time has it: who posts it lets go of it.
final class LogBatch: @unchecked Sendable {
    fileprivate(set) var lines: [UInt8] = []
}

/// Batches that have been written and wait to be filled again, so that a line needs no allocation.
final class LogBatches: Sendable {
    private let free = Locked<[LogBatch]>([])

    /// More are on their way only where the destination is slow, and their memory goes back then.
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
