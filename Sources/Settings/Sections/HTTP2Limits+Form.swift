import HTTP2

extension HTTP2Limits {
    static var form: Form<HTTP2Limits> {
        Form(HTTP2Limits()) {
            Setting(
                "concurrent_streams", \.concurrentStreamCountMax, streams,
                "Requests under way at a time: what browsers and URLSession expect.")
            Setting(
                "stream_window", \.streamWindowByteCount, window,
                "Body bytes that may be under way on a stream: what keeps 100 Mbit/s at 20 ms "
                    + "busy.")
            Setting(
                "connection_window", \.connectionWindowByteCount, window,
                "The same on all streams together.")
            Setting(
                "continuations", \.continuationCountMax,
                .count(0...1000, "limits.head fits in a few frames"),
                "CONTINUATION frames of one header block. Clients need none.")
            Setting(
                "resets", \.resetCountMax, frames,
                "Streams that the client resets, or makes the gateway reset by its own fault: work "
                    + "that is thrown away (rapid reset).")
            Setting(
                "pings", \.pingCountMax, frames,
                "PING has to be answered. Clients send one every few seconds.")
            Setting(
                "settings", \.settingsCountMax, frames,
                "SETTINGS has to be answered. Clients send one or two.")
            Setting(
                "priorities", \.priorityCountMax, frames,
                "PRIORITY, which means nothing here; of PRIORITY_UPDATE what goes beyond ten for "
                    + "each request.")
            Setting(
                "empty_data", \.emptyDataCountMax, frames,
                "DATA that neither carries nor ends anything.")
            Setting(
                "window_updates", \.windowUpdateCountMax, frames,
                "WINDOW_UPDATE beyond ten for each DATA frame that was sent.")
            Setting(
                "unknown_frames", \.unknownFrameCountMax, frames,
                "Frames of kinds that HTTP/2 does not know, and GOAWAY.")
            Setting(
                "unsent_acks", \.unsentAckCountMax,
                .count(1...10_000, "each holds memory until the client reads"),
                "Answers to PING and SETTINGS that wait because the client does not read.")
        }
    }

    static func check(_ field: Field, _ limits: HTTP2Limits) {
        if limits.connectionWindowByteCount < limits.streamWindowByteCount {
            field.error("connection_window is smaller than stream_window")
        }
    }

    static var streams: Kind<Int> { .count(1...10_000, "each stream is a request under way") }

    static var window: Kind<Int> {
        .byteCount(
            64 * .kibibyte...16 * .mebibyte,
            "HTTP/2 begins with 64KiB, and what is under way has to be taken")
    }

    private static var frames: Kind<Int> {
        .count(1...1_000_000, "a flood of them costs more here than there")
    }
}
