import EventLoop

/// Log files that are being opened by their names again, each by the thread of its own.
struct LogReopening {
    /// How many have not said yet what came of it.
    private var waitingCount: Int
    /// Why one of them could not be opened; nil while all could.
    private(set) var failure: IOError?

    init(waitingCount: Int) { self.waitingCount = waitingCount }

    /// One more is done, with or without success. Returns what came of all if it was the last.
    mutating func done(_ error: IOError?) -> Self? {
        waitingCount -= 1
        failure = failure ?? error
        return waitingCount == 0 ? self : nil
    }
}
