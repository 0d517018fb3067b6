import HTTP2

extension HTTP2Limits {
    static var form: Form<HTTP2Limits> {
        Form(HTTP2Limits()) {
            Setting(
                "concurrent_streams", \.concurrentStreamCountMax, streams,
                "Requests in flight at a time.")
            Setting(
                "stream_window", \.streamWindowByteCount, window,
                "Body bytes in flight on a stream.")
            Setting(
                "connection_window", \.connectionWindowByteCount, window,
                "Body bytes in flight on all streams together.")
            Setting(
                "resets", \.resetCountMax, frames,
                "Streams that the client resets, or that are reset because of it (rapid reset). "
                    + "Peers of check.from have no such bound.")
            Setting(
                "pings", \.pingCountMax, frames,
                "PING frames. Clients send one every few seconds.")
        }
    }

    static func check(_ section: inout Section, _ limits: inout HTTP2Limits) {
        if limits.connectionWindowByteCount < limits.streamWindowByteCount {
            section.error("connection_window is smaller than stream_window")
        }
    }

    static var streams: Kind<Int> { .count(1...10_000, "each stream is a request under way") }

    static var window: Kind<Int> {
        .byteCount(
            64 * .kibibyte...16 * .mebibyte,
            "HTTP/2 begins with 64KiB, and what is in flight must be taken")
    }

    private static var frames: Kind<Int> {
        .count(1...1_000_000, "a flood of them costs more here than there")
    }
}
