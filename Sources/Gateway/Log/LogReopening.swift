import EventLoop

/// Log files that are being opened by their names again, each by its own thread.
struct LogReopening {
    /// The number of files whose outcome is not known yet.
    private var waitingCount: Int
    /// The reason why one of them could not be opened; nil if all could so far.
    private(set) var failure: IOError?

    init(waitingCount: Int) { self.waitingCount = waitingCount }

    /// Notes the outcome of one file. Returns the sum of all if it was the last.
    mutating func done(_ error: IOError?) -> Self? {
        waitingCount -= 1
        failure = failure ?? error
        return waitingCount == 0 ? self : nil
    }
}
