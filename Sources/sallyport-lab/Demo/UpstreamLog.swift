import EventLoop

/// A request in the upstream's log; `-` for an absent field.
struct SeenRequest {
    let request: String
    /// The value of `X-Attest-Result`.
    let result: String
    /// The value of `X-Attest-Tier`.
    let tier: String
    /// The value of `X-Attest-Security-Level`.
    let level: String
    /// The value of `X-Attest-Key`.
    let key: String
}

/// The log of nginx, by rows of the demo: `ROW METHOD URI RESULT TIER LEVEL KEY`.
struct UpstreamLog {
    private var requests: [Int: SeenRequest] = [:]

    static let patience = Duration.seconds(10)

    /// Reads the log once it has the line of `lastRow`, which nginx writes after its answer.
    init(waitingFor lastRow: Int, in path: String) throws {
        let limit = MonotonicInstant.now() + Self.patience
        let loop = try EventLoop()
        while true {
            requests = try Self.read(path)
            if requests[lastRow] != nil { return }
            guard MonotonicInstant.now() < limit else {
                throw LabError("nginx did not log the last request")
            }
            let timer = Timer(loop: loop) { loop.stop() }
            timer.schedule(after: .milliseconds(20))
            loop.run()
        }
    }

    private static func read(_ path: String) throws -> [Int: SeenRequest] {
        let text = String(decoding: try LabFile.read(path), as: UTF8.self)
        var requests: [Int: SeenRequest] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 7, let row = Int(words[0]) else { continue }
            requests[row] = SeenRequest(
                request: words[1] + " " + words[2], result: words[3], tier: words[4],
                level: words[5], key: words[6])
        }
        return requests
    }

    /// The request of a row, or nil if it never came.
    subscript(row: Int) -> SeenRequest? { requests[row] }
}
