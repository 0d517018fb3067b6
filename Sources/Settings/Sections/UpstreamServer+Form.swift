extension UpstreamServer {
    /// `host:port`, or a mapping with more about the server; at least one, none twice.
    static var list: Kind<[UpstreamServer]> {
        let address = Kind<Endpoint>.server.map { UpstreamServer($0) }
        return .list(
            address.or(.section(form)), by: \.endpoint,
            empty: "is empty: at least one server is needed"
        ).checked { field, servers in
            if !servers.isEmpty, servers.allSatisfy(\.isBackup) {
                field.error("all are backups: leave backup out if there is nothing to back up")
            }
        }
    }

    private static var form: Form<UpstreamServer> {
        Form(UpstreamServer(.unix(path: "/"))) {
            Setting(
                "address", \.endpoint, .server, required: true,
                "The server. Each address of a name is a server of this weight.")
            Setting(
                "weight", \.weight,
                .count(1...1000, "larger ratios leave the other servers idle"),
                "The server's share of requests.")
            Setting(
                "backup", \.isBackup, .trueFalse,
                "Used only when no other server can be.")
            Setting(
                "connections_max", optional: \.connectionCountMax,
                .count(1...65_535, "an address has no more ports"),
                "Connections of each worker to this server.")
        }
    }
}

extension QueueSettings {
    static var form: Form<QueueSettings> {
        Form(QueueSettings()) {
            Setting(
                "requests", \.requestCountMax,
                .count(0...1_000_000, "each waiting request holds memory"),
                "Requests of each worker that may wait.")
            Setting(
                "timeout", \.timeout,
                .duration(.milliseconds(100), .seconds(300), "clients do not wait longer"),
                "How long a request waits before 503 with Retry-After.")
        }
    }
}

extension EjectionSettings {
    static var form: Form<EjectionSettings> {
        Form(EjectionSettings()) {
            Setting(
                "failures", \.failureCount,
                .count(0...1000, "a server that fails more often must be taken out; 0 is never"),
                "Failures in a row that take a server out.")
            Setting(
                "window", \.window,
                .duration(.seconds(1), .seconds(3600), "older failures say little"),
                "The time within which they must happen.")
            Setting(
                "time", \.time,
                .duration(.milliseconds(100), .seconds(3600), "a server may be back any time"),
                "How long a server is out the first time. Then one request tries it; if that "
                    + "fails, it is out for twice as long.")
            Setting(
                "time_max", \.timeMax,
                .duration(.milliseconds(100), .seconds(24 * 3600), "a server may be back"),
                "The longest that a server is out.")
            Setting(
                "share_max", \.sharePercent, .percent,
                "The share of servers that may be out at once, never all.")
        }
    }

    static func check(_ section: inout Section, _ ejection: inout EjectionSettings) {
        if ejection.timeMax < ejection.time {
            section.error("time_max is shorter than time, which grows up to it")
        }
    }
}

extension HealthCheckSettings {
    static var form: Form<HealthCheckSettings> {
        Form(HealthCheckSettings()) {
            Setting(
                "path", \.path,
                .text(
                    .text("path, with a query or not"),
                    "is not a path, with a query or not, that starts with /", isTarget),
                "The request's target.")
            Setting(
                "host", optional: \.host,
                .text(
                    .text("host, with a port or not"), "is not a host, with a port or not", isHost),
                "The request's Host. If left out, the server's address.")
            Setting(
                "interval", \.interval,
                .duration(.milliseconds(100), .seconds(3600), "checks are requests too"),
                "The time between checks.")
            Setting(
                "timeout", \.timeout,
                .duration(.milliseconds(10), .seconds(60), "a check tells nothing until then"),
                "How long a response may take.")
            Setting(
                "rises", \.riseCount, .count(1...100, "a server would never be used again"),
                "Successes in a row that bring a server up.")
            Setting(
                "falls", \.fallCount, .count(1...100, "a dead server would be used for long"),
                "Failures in a row that take a server down.")
            Setting(
                "status", \.status,
                Kind(
                    .text("status or range of them, 200 or 200-399", pattern: "^[0-9]+(-[0-9]+)?$"),
                    text: { "\($0.lowerBound)-\($0.upperBound)" }, parse: statusRange),
                "The statuses that pass.")
        }
    }

    /// True if the text can be the target of a request line unchanged.
    private static func isTarget(_ text: String) -> Bool {
        text.hasPrefix("/") && text.utf8.count <= 2048
            && text.isVisible && !text.contains("#")
    }

    private static func isHost(_ text: String) -> Bool {
        text.utf8.count <= 255
            && text.utf8.allSatisfy { $0.isLetterOrDigit || $0.isOne(of: ":-.[]_") }
    }

    /// `204` or `200-399`.
    private static func statusRange(_ text: String) throws(Fault) -> ClosedRange<Int> {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Quantity.count(String($0)) }
        guard numbers.count == parts.count, (1...2).contains(parts.count),
            numbers.allSatisfy((200...599).contains), numbers[0] <= numbers[numbers.count - 1]
        else { throw Fault("is not a status or range of them: write 200 or 200-399") }
        return numbers[0]...numbers[numbers.count - 1]
    }
}

extension RetrySettings {
    static var form: Form<RetrySettings> {
        Form(RetrySettings()) {
            Setting(
                "attempts", \.countMax,
                .count(0...10, "each may take all of the response time-out"),
                "How often a request is tried again.")
            Setting(
                "budget", \.budgetPercent, .percent,
                "Retries as a share of requests, beside ten a second.")
            Setting(
                "timeout", optional: \.timeout,
                .duration(.milliseconds(10), .seconds(3600), "requests wait for it"),
                "When a try is given up for the next. If left out: response_timeout.")
        }
    }
}
