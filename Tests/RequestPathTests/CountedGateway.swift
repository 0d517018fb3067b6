import Foundation
import GatewayTesting

/// A gateway under callgrind, which counts the instructions and allocations of each exchange: the
/// same work has the same count on every machine, whatever else that does.
final class CountedGateway {
    let gateway: GatewayProcess
    private let directory: ScratchDirectory
    private var dumpCount = 0
    private let isOneThread: Bool

    static let isInstalled =
        (try? ChildProcess.run("valgrind", ["--version"]))?.status == .exited(0)

    /// The function that ends every exchange, `Recorder.recordAccess`: what was counted is written
    /// whenever it returns.
    private static let mark = "$s7Gateway8RecorderV12recordAccess*"

    /// The function that runs what is due, `EventLoop.Timer.fire`: a busy machine runs more of it
    /// between two exchanges, so that it does not count.
    private static let timer = "$s9EventLoop5TimerC4fireyyF"

    /// If `isOneThread`, only the thread counts that ends the exchange: the others look after the
    /// stores every now and then, and a busy machine lets them do so between two exchanges.
    init(
        _ configuration: GatewayConfiguration, directory files: ScratchDirectory? = nil,
        isOneThread: Bool = false
    ) throws {
        self.isOneThread = isOneThread
        directory = try ScratchDirectory()
        // callgrind makes it fifty times slower, and a busy machine slower still.
        var configuration = configuration
        configuration.more.append(
            "timeouts: { registry: 1m, request_head: 1m, tls_handshake: 1m }")
        gateway = try GatewayProcess(
            configuration, directory: try files ?? ScratchDirectory(),
            launcher: [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=\(directory.path)/out",
                "--combine-dumps=no", "--dump-line=no", "--dump-after=\(Self.mark)",
                "--separate-threads=\(isOneThread ? "yes" : "no")",
                "--toggle-collect=\(Self.timer)", "--collect-atstart=yes",
            ])
        // What is done once is done now.
        for _ in 0..<2 { _ = try cost { _ = try gateway.exchange("GET", "/") } }
    }

    /// The least of some tries: what else the thread does meanwhile only adds to a count. More of
    /// them are made only where that is above the budget.
    static func least(
        of tryCount: Int = triesMax, above budget: Int, _ count: () throws -> Int
    ) rethrows -> Int {
        try least(of: tryCount, above: [budget]) { [try count()] }[0]
    }

    /// The same for several counts of a try, each with a budget.
    static func least(
        of tryCount: Int = triesMax, above budgets: [Int], _ counts: () throws -> [Int]
    ) rethrows -> [Int] {
        var least = budgets.map { _ in Int.max }
        for _ in 0..<tryCount where zip(least, budgets).contains(where: { $0 > $1 }) {
            least = zip(least, try counts()).map { min($0, $1) }
        }
        return least
    }

    static let triesMax = 20

    /// Instructions from the end of the exchange before to that of the one which `send` makes; not
    /// more than one.
    func instructions(_ send: () throws -> Void) throws -> Int {
        try dump(send, CallgrindDump.total)
    }

    /// What the exchange takes that `send` makes; not more than one.
    func cost(_ send: () throws -> Void) throws -> CallgrindDump {
        try dump(send) { CallgrindDump($0) }
    }

    /// Has `read` read the dump of the exchange that `send` makes, once it is complete.
    private func dump<Result>(
        _ send: () throws -> Void, _ read: (String) -> Result?
    ) throws -> Result {
        try send()
        dumpCount += 1
        let limit = ChildProcess.deadline
        while Date() < limit {
            if let path = dumpPath(dumpCount),
                let text = try? String(contentsOfFile: path, encoding: .utf8),
                let result = read(text)
            {
                try FileManager.default.removeItem(atPath: path)
                return result
            }
            _ = poll(nil, 0, 5)
        }
        throw RawSocketError("callgrind has not written its dump \(dumpCount)")
    }

    /// `out.7`, or `out.7-02` of the second thread.
    private func dumpPath(_ number: Int) -> String? {
        let name = "out.\(number)"
        guard isOneThread else { return "\(directory.path)/\(name)" }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.first { $0.hasPrefix(name + "-") }.map { "\(directory.path)/\($0)" }
    }
}
