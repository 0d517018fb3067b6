import EventLoop

/// `sallyport-lab load`: sends as many requests as a server answers, on one core.
enum LoadCommand {
    private static let usage = """
        usage: sallyport-lab load --gateway HOST:PORT [OPTION...]

          --connections N    clients at once, each waiting for its answer (32)
          --rate N           requests a second, each sent when it is due; its latency counts from
                             then, even if no connection was free. Else as many as are answered
          --wait SECONDS     with --rate, how long after the measured time answers are awaited to
                             what was due in it (5). What has none then counts with its age in
                             latency_us, and is counted in unanswered
          --seconds N        measured time (5), after --warm-up SECONDS (1)
          --method M --path P --body-bytes N
                             the request (GET, /, none)
          --seed WORD --devices N --app APP_ID
                             sign each request, by the devices of `sallyport-lab seed`
          --first-counter N  the start of their counters (0)
          --ahead N          without --rate, sign N requests before any is sent; if a connection has
                             sent its share, the measured time ends. Else requests are signed when
                             they are sent, and with --rate all of them before
          --base PATH        endpoints.base if it is not /
          --pid N            also measure this process's processor time

        Prints one JSON line. Exits with 1 if any answer had another status than --expect (200)
        or a connection broke.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--gateway", "--connections", "--seconds", "--warm-up", "--method", "--path",
                "--body-bytes", "--seed", "--devices", "--app", "--base", "--pid", "--expect",
                "--first-counter", "--rate", "--wait", "--ahead",
            ], usage: usage)
        let report = try LoadRun(try plan(options)).run()
        print(report.json(hasServer: options.value("--pid") != nil))
        let expected = UInt16(options.count("--expect", or: 200))
        let others = report.statuses.filter { $0.key != expected }
        guard others.isEmpty, report.errorCount == 0, !report.statuses.isEmpty else {
            throw LabError(
                "statuses \(report.statuses), \(report.errorCount) broken connections")
        }
    }

    private static func plan(_ options: LabOptions) throws -> LoadPlan {
        let connectionCount = max(1, options.count("--connections", or: 32))
        var signing: LoadPlan.Signing?
        if let seed = options.value("--seed") {
            signing = LoadPlan.Signing(
                keys: SeededKeys(seed: seed),
                deviceCount: max(connectionCount, options.count("--devices", or: connectionCount)),
                appID: options.required("--app"),
                firstCounter: UInt32(clamping: options.count("--first-counter", or: 0)),
                base: options.value("--base") ?? "/")
        }
        return LoadPlan(
            address: try SocketAddress.ofGateway(options.required("--gateway")),
            connectionCount: connectionCount,
            warmUp: .seconds(options.count("--warm-up", or: 1)),
            duration: .seconds(options.count("--seconds", or: 5)),
            method: options.value("--method") ?? "GET", path: options.value("--path") ?? "/",
            body: [UInt8](repeating: 0x78, count: options.count("--body-bytes", or: 0)),
            signing: signing,
            rate: options.value("--rate").map { _ in options.count("--rate", or: 1) },
            aheadCount: options.count("--ahead", or: 0),
            wait: .seconds(options.count("--wait", or: 5)),
            processID: options.value("--pid").flatMap { Int($0) })
    }
}
