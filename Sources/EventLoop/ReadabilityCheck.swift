import CLibevent
import CLinux

/// Asks the kernel once which of several descriptors have something to read, or have ended.
///
/// A loop reports that only in its next turn. This check reports it now, with one system call for
/// all descriptors.
public struct ReadabilityCheck {
    private var requests: [pollfd] = []
    private var isAsked = false

    public init() {}

    public mutating func removeAll() {
        if !requests.isEmpty { requests.removeAll(keepingCapacity: true) }
        isAsked = false
    }

    /// Adds a descriptor at the next index; nil to leave the index out of the check.
    public mutating func add(_ descriptor: Int32?) {
        // The kernel leaves a negative descriptor alone.
        isAsked = isAsked || descriptor != nil
        requests.append(pollfd(fd: descriptor ?? -1, events: Int16(POLLIN), revents: 0))
    }

    /// Runs the check. It does not wait, so that no signal interrupts it.
    public mutating func run() {
        guard isAsked else { return }
        let count = nfds_t(requests.count)
        _ = unsafe requests.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, count, 0) }
    }

    /// True if one descriptor has something to read, or has ended.
    public static func isReadable(_ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&request, 1, 0)
        return request.revents != 0
    }

    /// True if the descriptor at `index` had something to read, an end or an error when the check
    /// ran.
    public func isReadable(at index: Int) -> Bool { requests[index].revents != 0 }
}
