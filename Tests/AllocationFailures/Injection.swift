import CFork
import Glibc

/// One operation with one plan of failures, in a process of its own.
enum Injection {
    /// How it ended: nil if nothing is wrong, or what is.
    struct Verdict {
        let fault: String?
        let outcome: Outcome
    }

    private static let exitRight: Int32 = 0
    private static let exitRefused: Int32 = 10
    private static let exitFault: Int32 = 11
    /// More than any operation takes, with a sanitizer and on a busy machine.
    private static let secondsMax: UInt32 = 120

    static func run(_ operation: Operation, _ plan: Starvation.Plan) -> Verdict {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return Verdict(fault: "no pipe", outcome: .refused) }
        let child = sallyport_fork()
        if child == 0 {
            alarm(secondsMax)
            let (status, fault) = judge(operation, plan)
            _ = fault.withCString { write(ends[1], $0, strlen($0)) }
            _exit(status)
        }
        close(ends[1])
        let fault = text(from: ends[0])
        close(ends[0])
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        guard signal == 0 else {
            let site = Starvation.failed.map { "\($0)" } ?? "nothing"
            return Verdict(fault: "\(site): ended by signal \(signal)", outcome: .refused)
        }
        switch status >> 8 & 0xFF {
        case exitRight: return Verdict(fault: nil, outcome: .right)
        case exitRefused: return Verdict(fault: nil, outcome: .refused)
        case exitFault: return Verdict(fault: fault, outcome: .refused)
        case let other: return Verdict(fault: "ended with \(other)", outcome: .refused)
        }
    }

    private static func text(from descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    /// Three times with the failure: what the second left behind may be a cache, the third has to
    /// leave nothing. Then once without, which has to be right.
    private static func judge(
        _ operation: Operation, _ plan: Starvation.Plan
    ) -> (status: Int32, fault: String) {
        var first = Outcome.right
        var site = "nothing"
        for round in 1...3 {
            let before = Starvation.heldCount
            Starvation.arm(plan, operation.library)
            let outcome = operation.run()
            Starvation.disarm()
            if round == 1 { first = outcome }
            if round == 1, let failed = Starvation.failed { site = "\(failed)" }
            if case .wrong(let text) = outcome { return (exitFault, "\(site): \(text)") }
            if round == 3, Starvation.heldCount > before {
                let sites = Starvation.heldSites.map(\.description).joined(separator: " ")
                return (exitFault, "\(site): leaks \(sites)")
            }
        }
        let last = operation.run()
        guard last == .right else { return (exitFault, "\(site): afterwards \(last)") }
        return (first == .right ? exitRight : exitRefused, "")
    }
}
