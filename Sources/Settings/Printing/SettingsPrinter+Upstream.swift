import HTTP2

extension SettingsPrinter {
    static func write(_ upstream: UpstreamSettings, to yaml: inout YAMLText) {
        yaml.list("servers", upstream.servers) { yaml, server in
            yaml.entry("address", text: server.endpoint.description)
            yaml.entry("weight", "\(server.weight)")
            yaml.entry("backup", "\(server.isBackup)")
            if let count = server.connectionCountMax { yaml.entry("connections_max", "\(count)") }
        }
        yaml.entry("balance", upstream.balance.rawValue)
        write(upstream.paths, to: &yaml)
        yaml.entry("protocol", upstream.protocol.rawValue)
        if upstream.protocol == .http2 {
            yaml.mapping("http2") { yaml in
                let limits = upstream.http2
                yaml.entry("concurrent_streams", "\(limits.concurrentStreamCountMax)")
                writeWindows(
                    stream: limits.streamWindowByteCount,
                    connection: limits.connectionWindowByteCount, to: &yaml)
                let interval = upstream.pingInterval
                yaml.entry(
                    "ping_interval", interval == .zero ? "off" : Quantity.describe(interval))
            }
        }
        yaml.entry("connect_timeout", Quantity.describe(upstream.connectTimeout))
        yaml.entry("send_timeout", Quantity.describe(upstream.sendTimeout))
        yaml.entry("response_timeout", Quantity.describe(upstream.responseTimeout))
        yaml.entry("read_timeout", Quantity.describe(upstream.readTimeout))
        yaml.entry("idle_timeout", Quantity.describe(upstream.idleTimeout))
        yaml.entry("idle_connections_max", "\(upstream.idleConnectionCountMax)")
        yaml.entry("connections_max", "\(upstream.connectionCountMax)")
        yaml.entry("requests_per_connection", "\(upstream.requestsPerConnectionMax)")
        yaml.mapping("queue") { yaml in
            yaml.entry("requests", "\(upstream.queue.requestCountMax)")
            yaml.entry("timeout", Quantity.describe(upstream.queue.timeout))
        }
        yaml.mapping("ejection") { yaml in
            yaml.entry("failures", "\(upstream.ejection.failureCount)")
            yaml.entry("window", Quantity.describe(upstream.ejection.window))
            yaml.entry("time", Quantity.describe(upstream.ejection.time))
            yaml.entry("time_max", Quantity.describe(upstream.ejection.timeMax))
            yaml.entry("share_max", "\(upstream.ejection.sharePercent)%")
        }
        if let check = upstream.healthCheck {
            yaml.mapping("health_check") { write(check, to: &$0) }
        }
        if let identity = upstream.identity {
            yaml.mapping("identity") { write(identity, to: &$0) }
        }
        yaml.entry(
            "slow_start",
            upstream.slowStart == .zero ? "off" : Quantity.describe(upstream.slowStart))
        yaml.mapping("retries") { yaml in
            yaml.entry("attempts", "\(upstream.retries.countMax)")
            yaml.entry("budget", "\(upstream.retries.budgetPercent)%")
            if let timeout = upstream.retries.timeout {
                yaml.entry("timeout", Quantity.describe(timeout))
            }
        }
        let interval = upstream.resolveInterval
        yaml.entry("resolve_interval", interval == .zero ? "off" : Quantity.describe(interval))
    }

    /// Only what was said: the rest is warned of.
    private static func write(_ paths: UpstreamPaths, to yaml: inout YAMLText) {
        guard !paths.known.isEmpty else { return }
        yaml.mapping("paths") { yaml in
            let ignored = [("case", paths.ignoresCase), ("suffixes", paths.ignoresSuffixes)]
            for case let (key, isIgnored?) in ignored {
                yaml.entry(key, isIgnored ? "ignore" : "exact")
            }
            if let decodesTwice = paths.decodesTwice {
                yaml.entry("decode", decodesTwice ? "twice" : "once")
            }
        }
    }

    private static func write(_ check: HealthCheckSettings, to yaml: inout YAMLText) {
        yaml.entry("path", text: check.path)
        if let host = check.host { yaml.entry("host", text: host) }
        yaml.entry("interval", Quantity.describe(check.interval))
        yaml.entry("timeout", Quantity.describe(check.timeout))
        yaml.entry("rises", "\(check.riseCount)")
        yaml.entry("falls", "\(check.fallCount)")
        yaml.entry("status", text: "\(check.status.lowerBound)-\(check.status.upperBound)")
    }
}
