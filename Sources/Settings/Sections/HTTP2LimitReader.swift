import HTTP2

/// Reads `limits.http2`; ``HTTP2Limits`` says what each is for.
enum HTTP2LimitReader {
    private static let kibibyte = 1024
    private static let mebibyte = 1024 * 1024
    static let windows = 64 * kibibyte...16 * mebibyte
    static let windowReason = "HTTP/2 begins with 64KiB, and what is under way has to be taken"

    static func limits(_ field: Field) -> HTTP2Limits? {
        field.section { section in
            var limits = HTTP2Limits()
            section.set("concurrent_streams", &limits.concurrentStreamCountMax) {
                $0.count(1...10_000, "each stream is a request under way")
            }
            section.set("stream_window", &limits.streamWindowByteCount) {
                $0.byteCount(windows, windowReason)
            }
            section.set("connection_window", &limits.connectionWindowByteCount) {
                $0.byteCount(windows, windowReason)
            }
            section.set("continuations", &limits.continuationCountMax) {
                $0.count(0...1000, "limits.head fits in a few frames")
            }
            readFrames(&section, &limits)
            if limits.connectionWindowByteCount < limits.streamWindowByteCount {
                field.error("connection_window is smaller than stream_window")
            }
            return limits
        }
    }

    /// What may come at once, a tenth of it anew each second.
    private static func readFrames(_ section: inout Section, _ limits: inout HTTP2Limits) {
        let frames = 1...1_000_000
        let reason = "a flood of them costs more here than there"
        section.set("resets", &limits.resetCountMax) { $0.count(frames, reason) }
        section.set("pings", &limits.pingCountMax) { $0.count(frames, reason) }
        section.set("settings", &limits.settingsCountMax) { $0.count(frames, reason) }
        section.set("priorities", &limits.priorityCountMax) { $0.count(frames, reason) }
        section.set("empty_data", &limits.emptyDataCountMax) { $0.count(frames, reason) }
        section.set("window_updates", &limits.windowUpdateCountMax) { $0.count(frames, reason) }
        section.set("unknown_frames", &limits.unknownFrameCountMax) { $0.count(frames, reason) }
        section.set("unsent_acks", &limits.unsentAckCountMax) {
            $0.count(1...10_000, "each holds memory until the client reads")
        }
    }
}
