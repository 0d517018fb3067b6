public import EventLoop

/// How the file of the counts of quotas is doing, as its thread last said.
public final class QuotaFileState: Sendable {
    private struct State: Sendable {
        var failure: StoreError?
        var busySince: MonotonicInstant?
    }

    private let state = Locked(State())

    /// The time after which a disk that is being written to counts as one that does not answer.
    private static let patience = Duration.seconds(10)

    public init() {}

    /// The thread begins to write.
    public func writingBegins() {
        state.withLock { $0.busySince = .now() }
    }

    /// The thread has written, or has failed to.
    public func writingEnded(_ failure: StoreError?) {
        state.withLock { state in
            state.failure = failure
            state.busySince = nil
        }
    }

    /// The reason why counts are not written, in words for the operator. Nil if they are, or if
    /// there is no file.
    public func trouble(at now: MonotonicInstant) -> String? {
        state.withLock { state in
            if let since = state.busySince, now > since + Self.patience {
                return "the disk has not answered for \((now - since).components.seconds) s"
            }
            return state.failure?.description
        }
    }
}
