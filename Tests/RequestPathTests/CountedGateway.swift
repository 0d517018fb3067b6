import Foundation
import GatewayTesting

/// A gateway under callgrind, which counts the instructions of each exchange: the same work has the
/// same count on every machine, whatever else that does.
final class CountedGateway {
    let gateway: GatewayProcess
    private let directory: ScratchDirectory
    private var dumpCount = 0

    static let isInstalled =
        (try? ChildProcess.run("valgrind", ["--version"]))?.status == .exited(0)

    /// The function that ends every exchange, `Exchange.recordAccess`: what was counted is written
    /// whenever it returns.
    private static let mark = "$s7Gateway8ExchangeC12recordAccess*"

    init(_ configuration: GatewayConfiguration) throws {
        directory = try ScratchDirectory()
        gateway = try GatewayProcess(
            configuration,
            launcher: [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=\(directory.path)/out",
                "--combine-dumps=no", "--dump-line=no", "--dump-after=\(Self.mark)",
            ])
        // What is done once is done now.
        for _ in 0..<2 { _ = try count { _ = try gateway.exchange("GET", "/") } }
    }

    /// Instructions from the end of the exchange before to that of the one which `send` makes.
    ///
    /// Timers run meanwhile, now and then, so that the least of some tries is the exchange's own.
    func count(tries: Int, _ send: () throws -> Void) throws -> Int {
        var least = Int.max
        for _ in 0..<tries { least = min(least, try count(send)) }
        return least
    }

    private func count(_ send: () throws -> Void) throws -> Int {
        try send()
        dumpCount += 1
        let path = "\(directory.path)/out.\(dumpCount)"
        let limit = Date(timeIntervalSinceNow: 60)
        while Date() < limit {
            // The totals are the last thing to be written.
            if let text = try? String(contentsOfFile: path, encoding: .utf8),
                let line = text.split(separator: "\n").last(where: { $0.hasPrefix("totals: ") }),
                let total = Int(line.dropFirst(8)), text.hasSuffix("\n")
            {
                try FileManager.default.removeItem(atPath: path)
                return total
            }
            _ = poll(nil, 0, 5)
        }
        throw RawSocketError("callgrind has not written \(path)")
    }
}
