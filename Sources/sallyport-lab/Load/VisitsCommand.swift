import EventLoop

/// `sallyport-lab visits`: sends signed requests, each on a connection of its own, as clients that
/// give up.
enum VisitsCommand {
    private static let usage = """
        usage: sallyport-lab visits --gateway HOST:PORT --phases PHASE[,PHASE...] [OPTION...]

          A phase is RATE/SECONDS, requests a second that are sent when they are due, or
          xN/COUNT: N clients at a time, each followed by another, until COUNT have come.

          --seed WORD --devices N --app APP_ID
                             the devices of `sallyport-lab seed` that sign, in turn
          --first-counter N  the start of their counters (0)
          --give-up MS       when a client closes its connection without an answer (1000)
          --sources N        connect from N addresses of 127.0.0.0/8 in turn, each with ports of
                             its own
          --path P           the path of the POST requests (/)
          --base PATH        endpoints.base if it is not /

        Prints one JSON line: of each phase the seconds, and by tenths of a second when requests
        were due how many came and how many were answered with 200 in time; statuses of all answers.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--gateway", "--phases", "--seed", "--devices", "--app", "--first-counter",
                "--give-up", "--sources",
                "--path", "--base",
            ], usage: usage)
        let phases = try options.required("--phases").split(separator: ",").map {
            try VisitPhase(String($0))
        }
        let address = try SocketAddress.ofGateway(options.required("--gateway"))
        let requests = try SignedStock(
            address: address, path: options.value("--path") ?? "/",
            base: options.value("--base") ?? "/",
            devices: (0..<max(1, options.count("--devices", or: 1))).map {
                try SeededKeys(seed: options.required("--seed")).device(
                    $0, appID: options.required("--app"),
                    counter: UInt32(clamping: options.count("--first-counter", or: 0)))
            }
        ).requests(phases.reduce(0) { $0 + $1.requestCount })
        let run = try VisitRun(
            address: address, phases: phases, requests: requests,
            patience: .milliseconds(options.count("--give-up", or: 1000)),
            sources: sources(options.count("--sources", or: 0)))
        print(try run.run())
    }

    private static func sources(_ count: Int) -> [SocketAddress] {
        (0..<count).compactMap { index in
            let host = index + 1
            return SocketAddress(
                ipBytes: [
                    127, UInt8(clamping: host >> 16 & 255), UInt8(host >> 8 & 255),
                    UInt8(host & 255),
                ], port: 0)
        }
    }
}

/// A part of a run in which requests come at one pace.
struct VisitPhase {
    enum Pace {
        /// Requests a second, for this many nanoseconds.
        case rate(Int, nanoseconds: UInt64)
        /// This many clients at a time.
        case atOnce(Int)
    }

    let pace: Pace
    /// The most requests of the phase.
    let requestCount: Int

    init(_ text: String) throws {
        let parts = text.split(separator: "/")
        let isClosed = text.hasPrefix("x")
        guard parts.count == 2, let first = Int(parts[0].drop { $0 == "x" }), first > 0 else {
            throw LabError("\(text) is no phase")
        }
        if isClosed, let count = Int(parts[1]), count > 0 {
            pace = .atOnce(first)
            requestCount = count
        } else if !isClosed, let seconds = Double(parts[1]), seconds > 0 {
            pace = .rate(first, nanoseconds: UInt64(seconds * 1e9))
            requestCount = Int((Double(first) * seconds).rounded(.up))
        } else {
            throw LabError("\(text) is no phase")
        }
    }
}
