import HTTP2

extension SettingsPrinter {
    static func write(_ limits: HTTP2Limits, to yaml: inout YAMLText) {
        yaml.entry("concurrent_streams", "\(limits.concurrentStreamCountMax)")
        yaml.entry("stream_window", Quantity.describe(byteCount: limits.streamWindowByteCount))
        yaml.entry(
            "connection_window", Quantity.describe(byteCount: limits.connectionWindowByteCount))
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
}
