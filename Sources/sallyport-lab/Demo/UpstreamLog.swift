import EventLoop

/// What nginx logged, by row of the demo: `ROW METHOD URI result=... app=... status=...`.
struct UpstreamLog {
    private var lines: [Int: String] = [:]

    static let patience = Duration.seconds(10)

    /// Reads the log once it has the line of `lastRow`, which nginx writes after its answer.
    init(waitingFor lastRow: Int, in path: String) throws {
        let limit = MonotonicInstant.now() + Self.patience
        let loop = try EventLoop()
        while true {
            lines = try Self.read(path)
            if lines[lastRow] != nil { return }
            guard MonotonicInstant.now() < limit else {
                throw LabError("nginx did not log the last request")
            }
            let timer = Timer(loop: loop) { loop.stop() }
            timer.schedule(after: .milliseconds(20))
            loop.run()
        }
    }

    private static func read(_ path: String) throws -> [Int: String] {
        let text = String(decoding: try LabFile.read(path), as: UTF8.self)
        var lines: [Int: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let row = Int(parts[0]) else { continue }
            lines[row] = String(parts[1])
        }
        return lines
    }

    /// Nil where the request never came.
    subscript(row: Int) -> String? { lines[row] }
}
