import Synchronization

/// The numbers of refused requests that were kept or not, for metrics. Any thread adds.
final class CaptureCounts: Sendable {
    enum Outcome: String, CaseIterable {
        case kept
        /// There were more in a second than are kept, or the file would be larger than all may be
        /// together.
        case skipped
        /// The disk did not take the file.
        case failed
    }

    private let kept = Atomic<UInt64>(0)
    private let skipped = Atomic<UInt64>(0)
    private let failed = Atomic<UInt64>(0)

    func add(_ outcome: Outcome) {
        switch outcome {
        case .kept: kept.wrappingAdd(1, ordering: .relaxed)
        case .skipped: skipped.wrappingAdd(1, ordering: .relaxed)
        case .failed: failed.wrappingAdd(1, ordering: .relaxed)
        }
    }

    func count(_ outcome: Outcome) -> UInt64 {
        switch outcome {
        case .kept: kept.load(ordering: .relaxed)
        case .skipped: skipped.load(ordering: .relaxed)
        case .failed: failed.load(ordering: .relaxed)
        }
    }
}
