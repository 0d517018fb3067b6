import Foundation
import GatewayTesting

/// One client that asks again and again, on a connection for each request or on one as long as the
/// gateway keeps it.
final class ConstantLoad: @unchecked Sendable {
    private let port: UInt16
    private let keepsConnection: Bool
    private let lock = NSLock()
    private var isStopping = false
    private var count = 0
    private var failures: [String] = []
    private let hasEnded = Gate()

    init(port: UInt16, keepsConnection: Bool) {
        self.port = port
        self.keepsConnection = keepsConnection
    }

    func start() { Thread.detachNewThread { [self] in run() } }

    func stop() -> (count: Int, failures: [String]) {
        lock.withLock { isStopping = true }
        hasEnded.wait()
        return lock.withLock { (count, failures) }
    }

    private func run() {
        var client: RawClient?
        while !lock.withLock({ isStopping }) {
            do {
                let current = try client ?? RawClient(port: port)
                let answer = try current.exchange("GET", "/x")
                client = keepsConnection && answer["Connection"] != "close" ? current : nil
                lock.withLock {
                    count += 1
                    if answer.status != 200 { failures.append(answer.outcome) }
                }
            } catch {
                client = nil
                lock.withLock { failures.append("\(error)") }
            }
        }
        hasEnded.open()
    }
}
