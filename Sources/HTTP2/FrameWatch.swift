import CNghttp2

/// Counts the frames that a client sends against ``HTTP2Limits``. Only later versions of nghttp2
/// bound some of them by themselves, and none by a setting.
struct FrameWatch {
    private var resets: FrameBudget
    private var pings: FrameBudget
    private var settings: FrameBudget
    private var priorities: FrameBudget
    private var priorityUpdates: FrameBudget
    private var emptyData: FrameBudget
    private var windowUpdates: FrameBudget
    private var unknown: FrameBudget
    /// True if streams that are reset spend the budget for resets.
    var countsResets = true
    private var continuationCount = 0
    private let continuationCountMax: Int

    init(_ limits: HTTP2Limits) {
        resets = FrameBudget(countMax: limits.resetCountMax)
        pings = FrameBudget(countMax: limits.pingCountMax)
        settings = FrameBudget(countMax: limits.settingsCountMax)
        priorities = FrameBudget(countMax: limits.priorityCountMax)
        priorityUpdates = FrameBudget(countMax: limits.priorityCountMax)
        emptyData = FrameBudget(countMax: limits.emptyDataCountMax)
        windowUpdates = FrameBudget(countMax: limits.windowUpdateCountMax)
        unknown = FrameBudget(countMax: limits.unknownFrameCountMax)
        continuationCountMax = limits.continuationCountMax
    }

    /// Counts a frame whose header is complete.
    mutating func began(_ header: FrameHeader, now: UInt64) -> HTTP2Fault? {
        switch header.kind {
        case .data:
            guard header.length == 0, !header.endsStream else { return nil }
            return emptyData.spend(now: now) ? nil : .emptyDataFlood
        case .headers, .pushPromise:
            continuationCount = 0
            priorityUpdates.credit(10)
            return nil
        case .continuation:
            continuationCount += 1
            return continuationCount <= continuationCountMax ? nil : .continuationFlood
        case .priorityUpdate: return priorityUpdates.spend(now: now) ? nil : .priorityFlood
        case .priority: return priorities.spend(now: now) ? nil : .priorityFlood
        case .reset: return wasReset(now: now)
        case .settings: return settings.spend(now: now) ? nil : .settingsFlood
        case .ping: return pings.spend(now: now) ? nil : .pingFlood
        case .windowUpdate: return windowUpdates.spend(now: now) ? nil : .windowUpdateFlood
        case .goAway, nil: return unknown.spend(now: now) ? nil : .unknownFrameFlood
        }
    }

    /// Counts a complete DATA frame: one of padding alone counts as empty.
    mutating func received(_ data: nghttp2_data, now: UInt64) -> HTTP2Fault? {
        guard data.hd.length > 0, data.hd.length <= data.padlen, !data.hd.endsStream else {
            return nil
        }
        return emptyData.spend(now: now) ? nil : .emptyDataFlood
    }

    /// Counts a stream that was reset, by the client or by the gateway for a fault of the client.
    mutating func wasReset(now: UInt64) -> HTTP2Fault? {
        !countsResets || resets.spend(now: now) ? nil : .resetFlood
    }

    mutating func sentData() { windowUpdates.credit(10) }
}

extension nghttp2_frame_hd {
    var endsStream: Bool { UInt32(flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 }
    var isAck: Bool { UInt32(flags) & NGHTTP2_FLAG_ACK.rawValue != 0 }
}
