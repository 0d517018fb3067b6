import EventLoop
import Settings

/// Leaves servers of an upstream out for a while, by the requests that they failed.
///
/// A server that fails `failureCount` times in a row within `window` is ejected for `time`. When
/// that has passed one request tries it again: a success brings the server back, a failure ejects
/// it for twice as long, up to `timeMax`. At most `sharePercent` of the servers, and always at most
/// all but one, are out at once. A value; times are nanoseconds of one clock.
struct Ejection {
    enum Change: Equatable {
        case ejected(nanoseconds: UInt64)
        case returned
    }

    private struct Server {
        var failureCount = 0
        var firstFailureAt: UInt64 = 0
        /// The time until which it is ejected; 0 if it is not.
        var ejectedUntil: UInt64 = 0
        /// The number of ejections in a row; each doubles the time.
        var ejectionCount = 0
    }

    private let settings: EjectionSettings
    private let window: UInt64
    private let time: UInt64
    private let timeMax: UInt64
    private var servers: [Server]

    init(_ settings: EjectionSettings, serverCount: Int) {
        self.settings = settings
        window = settings.window.wholeNanoseconds
        time = settings.time.wholeNanoseconds
        timeMax = settings.timeMax.wholeNanoseconds
        servers = Array(repeating: Server(), count: serverCount)
    }

    /// The ejection of other servers by the same rules. Each keeps the state that it had under its
    /// old index.
    func carried(to oldIndexes: [Int?]) -> Ejection {
        var carried = Ejection(settings, serverCount: oldIndexes.count)
        for (index, old) in oldIndexes.enumerated() {
            if let old { carried.servers[index] = servers[old] }
        }
        return carried
    }

    /// The time at which the server may be tried again; 0 if it is not ejected.
    func ejectedUntil(_ index: Int) -> UInt64 { servers[index].ejectedUntil }

    /// True if a success changes nothing.
    func isClean(_ index: Int) -> Bool {
        servers[index].failureCount == 0 && servers[index].ejectedUntil == 0
    }

    /// A request failed by the server's fault.
    mutating func failed(_ index: Int, now: UInt64) -> Change? {
        if servers[index].ejectedUntil > 0 {
            // A request that was under way when the server was ejected says nothing new.
            guard now >= servers[index].ejectedUntil || servers[index].failureCount == 0 else {
                return nil
            }
            return eject(index, now: now)
        }
        if servers[index].failureCount == 0 || now > servers[index].firstFailureAt + window {
            servers[index].failureCount = 0
            servers[index].firstFailureAt = now
        }
        servers[index].failureCount += 1
        guard servers[index].failureCount >= settings.failureCount, mayEjectOneMore else {
            return nil
        }
        return eject(index, now: now)
    }

    /// A request was answered.
    mutating func succeeded(_ index: Int, now: UInt64) -> Change? {
        if servers[index].ejectedUntil == 0 {
            servers[index].failureCount = 0
            return nil
        }
        // Answers to requests that were under way at the ejection do not bring it back; the trial
        // does.
        guard servers[index].failureCount == 0 else { return nil }
        servers[index].ejectedUntil = 0
        servers[index].ejectionCount = 0
        return .returned
    }

    /// True if this request is the one that tries a server whose time is over. Until its outcome is
    /// known, no other request does, for as long as the shortest ejection.
    mutating func beginTrial(_ index: Int, now: UInt64) -> Bool {
        guard servers[index].ejectedUntil > 0, now >= servers[index].ejectedUntil else {
            return false
        }
        servers[index].ejectedUntil = now + time
        servers[index].failureCount = 0
        return true
    }

    private var mayEjectOneMore: Bool {
        let outCount = servers.count { $0.ejectedUntil > 0 }
        let share = max(1, servers.count * settings.sharePercent / 100)
        return settings.sharePercent > 0 && outCount < min(share, servers.count - 1)
    }

    private mutating func eject(_ index: Int, now: UInt64) -> Change {
        let doublings = min(servers[index].ejectionCount, 32)
        let (grown, isTooLong) = time.multipliedReportingOverflow(by: 1 << UInt64(doublings))
        let nanoseconds = isTooLong ? timeMax : min(grown, timeMax)
        servers[index].ejectionCount += 1
        servers[index].ejectedUntil = now + nanoseconds
        // Not zero, because zero stands for a trial under way.
        servers[index].failureCount = settings.failureCount
        return .ejected(nanoseconds: nanoseconds)
    }
}
