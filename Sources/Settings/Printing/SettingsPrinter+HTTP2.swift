import HTTP2

extension SettingsPrinter {
    static func write(_ limits: HTTP2Limits, to yaml: inout YAMLText) {
        yaml.entry("concurrent_streams", "\(limits.concurrentStreamCountMax)")
        writeWindows(
            stream: limits.streamWindowByteCount, connection: limits.connectionWindowByteCount,
            to: &yaml)
        yaml.entry("continuations", "\(limits.continuationCountMax)")
        yaml.entry("resets", "\(limits.resetCountMax)")
        yaml.entry("pings", "\(limits.pingCountMax)")
        yaml.entry("settings", "\(limits.settingsCountMax)")
        yaml.entry("priorities", "\(limits.priorityCountMax)")
        yaml.entry("empty_data", "\(limits.emptyDataCountMax)")
        yaml.entry("window_updates", "\(limits.windowUpdateCountMax)")
        yaml.entry("unknown_frames", "\(limits.unknownFrameCountMax)")
        yaml.entry("unsent_acks", "\(limits.unsentAckCountMax)")
    }

    static func writeWindows(stream: Int, connection: Int, to yaml: inout YAMLText) {
        yaml.entry("stream_window", Quantity.describe(byteCount: stream))
        yaml.entry("connection_window", Quantity.describe(byteCount: connection))
    }
}
