/// Reads an upstream's `servers` and how they are chosen and watched.
enum UpstreamServerReader {
    static let weightRange = 1...1000

    /// At least one, none twice.
    static func servers(_ field: Field) -> [UpstreamServer]? {
        guard let elements = field.list() else { return nil }
        if elements.isEmpty { field.error("is empty: at least one server is needed") }
        var servers: [UpstreamServer] = []
        for element in elements {
            guard let server = server(element) else { continue }
            if servers.contains(where: { $0.endpoint == server.endpoint }) {
                element.error("listed twice")
            }
            servers.append(server)
        }
        if !servers.isEmpty, servers.allSatisfy(\.isBackup) {
            field.error("all are backups: leave backup out where there is nothing to back up")
        }
        return servers.count == elements.count ? servers : nil
    }

    /// `host:port`, or a mapping with more about the server.
    static func server(_ field: Field) -> UpstreamServer? {
        guard field.isMapping else {
            return field.serverEndpoint().map { UpstreamServer($0) }
        }
        return field.section { section -> UpstreamServer? in
            let endpoint = section.required("address").flatMap { $0.serverEndpoint() }
            var server = UpstreamServer(endpoint ?? .unix(path: "/"))
            section.set("weight", &server.weight) {
                $0.count(weightRange, "larger ratios leave the other servers idle")
            }
            section.set("backup", &server.isBackup) {
                $0.choice([("true", true), ("false", false)])
            }
            section.set("connections_max", &server.connectionCountMax) {
                $0.count(1...65_535, "an address has no more ports")
            }
            return endpoint == nil ? nil : server
        } ?? nil
    }

    static func queue(_ field: Field) -> QueueSettings? {
        field.section { section in
            var queue = QueueSettings()
            section.set("requests", &queue.requestCountMax) {
                $0.count(0...1_000_000, "each waiting request holds memory")
            }
            section.set("timeout", &queue.timeout) {
                $0.duration(.milliseconds(100), .seconds(300), "clients do not wait longer")
            }
            return queue
        }
    }

    static func ejection(_ field: Field) -> EjectionSettings? {
        field.section { section in
            var ejection = EjectionSettings()
            section.set("failures", &ejection.failureCount) {
                $0.count(0...1000, "a server that fails so often helps nobody; 0 is never")
            }
            section.set("window", &ejection.window) {
                $0.duration(.seconds(1), .seconds(3600), "older failures say little")
            }
            section.set("time", &ejection.time) {
                $0.duration(.milliseconds(100), .seconds(3600), "a server may be back any time")
            }
            section.set("time_max", &ejection.timeMax) {
                $0.duration(.milliseconds(100), .seconds(24 * 3600), "a server may be back")
            }
            section.set("share_max", &ejection.sharePercent) { $0.percent() }
            if ejection.timeMax < ejection.time {
                field.error("time_max is shorter than time, which grows up to it")
            }
            return ejection
        }
    }

    static func healthCheck(_ field: Field) -> HealthCheckSettings? {
        field.section { section in
            var check = HealthCheckSettings()
            section.set("path", &check.path, requestTarget)
            section.set("host", &check.host, hostField)
            section.set("interval", &check.interval) {
                $0.duration(.milliseconds(100), .seconds(3600), "checks are requests too")
            }
            section.set("timeout", &check.timeout) {
                $0.duration(.milliseconds(10), .seconds(60), "a check tells nothing until then")
            }
            section.set("rises", &check.riseCount) {
                $0.count(1...100, "a server would never be used again")
            }
            section.set("falls", &check.fallCount) {
                $0.count(1...100, "a dead server would be used for long")
            }
            section.set("status", &check.status, statusRange)
            return check
        }
    }

    /// What stands in a request line as it is.
    private static func requestTarget(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let isTarget =
            text.value.hasPrefix("/") && text.value.utf8.count <= 2048
            && text.value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        guard isTarget else {
            field.error("\(text.shown) is not a path, with a query or not, that starts with /")
            return nil
        }
        return text.value
    }

    private static func hostField(_ field: Field) -> String?? {
        guard let text = field.text() else { return nil }
        let isHost =
            !text.value.isEmpty && text.value.utf8.count <= 255
            && text.value.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x3A).contains(byte)
                    || [0x2D, 0x2E, 0x5B, 0x5D, 0x5F].contains(byte)
            }
        guard isHost else {
            field.error("\(text.shown) is not a host, with a port or not")
            return nil
        }
        return text.value
    }

    /// `204` or `200-399`.
    private static func statusRange(_ field: Field) -> ClosedRange<Int>? {
        guard let text = field.text() else { return nil }
        let parts = text.value.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Quantity.count(String($0)) }
        guard numbers.count == parts.count, (1...2).contains(parts.count),
            numbers.allSatisfy((200...599).contains), numbers[0] <= numbers[numbers.count - 1]
        else {
            field.error("\(text.shown) is not a status or range of them: write 200 or 200-399")
            return nil
        }
        return numbers[0]...numbers[numbers.count - 1]
    }

    static func retries(_ field: Field) -> RetrySettings? {
        field.section { section in
            var retries = RetrySettings()
            section.set("attempts", &retries.countMax) {
                $0.count(0...10, "each may take all of the response time-out")
            }
            section.set("budget", &retries.budgetPercent) { $0.percent() }
            section.set("timeout", &retries.timeout) {
                $0.duration(.milliseconds(10), .seconds(3600), "requests wait for it")
            }
            return retries
        }
    }

    /// `30s`, or `off`.
    static func resolveInterval(_ field: Field) -> Duration? {
        if let text = field.text(), text.value == "off" { return .zero }
        return field.duration(.seconds(1), .seconds(24 * 3600), "name servers are not ours alone")
    }
}
