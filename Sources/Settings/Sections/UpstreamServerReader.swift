/// Reads an upstream's `servers` and how they are chosen and watched.
enum UpstreamServerReader {
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
            UpstreamServer.form.read(&section, into: &server)
            return endpoint == nil ? nil : server
        } ?? nil
    }

    static var shape: Shape { .list(.either([.server, UpstreamServer.form.shape])) }
}

extension UpstreamServer {
    static var form: Form<UpstreamServer> {
        Form(UpstreamServer(.unix(path: "/"))) {
            Setting(
                "address", shown: \.endpoint.description, .server, required: true,
                "Where the server is. A name that stands for several addresses is as many servers.")
            Setting(
                "weight", \.weight,
                .count(1...1000, "larger ratios leave the other servers idle"),
                "The share of requests by comparison with the other servers.")
            Setting(
                "backup", \.isBackup, .trueFalse,
                "Whether it is used only when no other server can be.")
            Setting(
                "connections_max", optional: \.connectionCountMax,
                .count(1...65_535, "an address has no more ports"),
                "Connections of each worker to this server. Left out: no bound of its own.")
        }
    }
}

extension QueueSettings {
    static var form: Form<QueueSettings> {
        Form(QueueSettings()) {
            Setting(
                "requests", \.requestCountMax,
                .count(0...1_000_000, "each waiting request holds memory"),
                "Requests of each worker that may wait. More get 503 at once.")
            Setting(
                "timeout", \.timeout,
                .duration(.milliseconds(100), .seconds(300), "clients do not wait longer"),
                "How long a request waits before it gets 503.")
        }
    }
}

extension EjectionSettings {
    static var form: Form<EjectionSettings> {
        Form(EjectionSettings()) {
            Setting(
                "failures", \.failureCount,
                .count(0...1000, "a server that fails so often helps nobody; 0 is never"),
                "So many failures in a row leave a server out: no connection, no answer in time, "
                    + "one that breaks off or is not HTTP. Statuses are none.")
            Setting(
                "window", \.window,
                .duration(.seconds(1), .seconds(3600), "older failures say little"),
                "Failures of a row that lie farther apart are not counted together.")
            Setting(
                "time", \.time,
                .duration(.milliseconds(100), .seconds(3600), "a server may be back any time"),
                "How long a server is left out the first time. Then one request tries it; if that "
                    + "fails too, the server is out for twice as long.")
            Setting(
                "time_max", \.timeMax,
                .duration(.milliseconds(100), .seconds(24 * 3600), "a server may be back"),
                "The end of that growth.")
            Setting(
                "share_max", \.sharePercent, .percent,
                "At most this share of the servers, and never the last one, is out at once.")
        }
    }

    static func check(_ field: Field, _ ejection: EjectionSettings) {
        if ejection.timeMax < ejection.time {
            field.error("time_max is shorter than time, which grows up to it")
        }
    }
}

extension HealthCheckSettings {
    static var form: Form<HealthCheckSettings> {
        Form(HealthCheckSettings()) {
            Setting(
                "path", \.path, .text(.text("path, with a query or not"), requestTarget),
                "The target of the request.")
            Setting(
                "host", optional: \.host, .text(.text("host, with a port or not"), hostField),
                "The Host field. Left out: the server's address.")
            Setting(
                "interval", \.interval,
                .duration(.milliseconds(100), .seconds(3600), "checks are requests too"),
                "From one check to the next, a tenth more or less at random.")
            Setting(
                "timeout", \.timeout,
                .duration(.milliseconds(10), .seconds(60), "a check tells nothing until then"),
                "How long an answer may take.")
            Setting(
                "rises", \.riseCount, .count(1...100, "a server would never be used again"),
                "Successes in a row that bring a server up.")
            Setting(
                "falls", \.fallCount, .count(1...100, "a dead server would be used for long"),
                "Failures in a row that make a server down.")
            Setting(
                "status", \.status,
                Kind(
                    .text("status or range of them, 200 or 200-399", pattern: "^[0-9]+(-[0-9]+)?$"),
                    plain: { YAMLText.scalar("\($0.lowerBound)-\($0.upperBound)") },
                    read: statusRange),
                "Statuses that pass.")
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

    private static func hostField(_ field: Field) -> String? {
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
}

extension RetrySettings {
    static var form: Form<RetrySettings> {
        Form(RetrySettings()) {
            Setting(
                "attempts", \.countMax,
                .count(0...10, "each may take all of the response time-out"),
                "How often a request is tried after the first time.")
            Setting(
                "budget", \.budgetPercent, .percent,
                "Retries as a share of requests, beside ten a second. Beyond it the failure is "
                    + "told at once.")
            Setting(
                "timeout", optional: \.timeout,
                .duration(.milliseconds(10), .seconds(3600), "requests wait for it"),
                "A try that may be repeated and has no answer after so long is given up for the "
                    + "next. Left out: it has all of response_timeout.")
        }
    }
}
