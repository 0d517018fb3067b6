import Foundation
import GatewayTesting
import JSON
import Testing

/// What h2load says of its requests.
private struct LoadCount: CustomStringConvertible {
    let description: String
    private let counts: [Int]

    init(_ output: String) {
        description =
            output.split(separator: "\n").first { $0.hasPrefix("requests: ") }
            .map(String.init) ?? output
        counts = description.split { !$0.isNumber }.compactMap { Int($0) }
    }

    /// Of what it started nothing failed.
    var isClean: Bool {
        counts.count == 7 && counts[1] > 0 && counts[1] == counts[2] && counts[2] == counts[3]
            && counts[6] == 0
    }

    var succeededCount: Int { counts.count == 7 ? counts[3] : 0 }

    /// It started everything.
    var isWhole: Bool { counts.count == 7 && counts[0] == counts[1] }
}

/// h2load, run again and again until it is told to stop.
private final class RepeatedLoad: @unchecked Sendable {
    private let arguments: [String]
    private let condition = NSCondition()
    private var counts: [LoadCount] = []
    private var isStopping = false
    private var hasEnded = false

    init(_ arguments: [String]) {
        self.arguments = ["-n", "400", "-c", "4"] + arguments
        Thread.detachNewThread { [self] in run() }
    }

    private func run() {
        while !condition.withLock({ isStopping }) {
            let outcome = Result { try ChildProcess.run("h2load", arguments) }
            let output = (try? outcome.get().standardOutput) ?? "\(outcome)"
            condition.withLock {
                counts.append(LoadCount(output))
                condition.broadcast()
            }
        }
        condition.withLock {
            hasEnded = true
            condition.broadcast()
        }
    }

    /// Waits until a run that has begun from now on is over.
    func waitForRun() {
        condition.withLock {
            let end = counts.count + 2
            while counts.count < end { condition.wait() }
        }
    }

    func stop() -> [LoadCount] {
        condition.withLock {
            isStopping = true
            while !hasEnded { condition.wait() }
            return counts
        }
    }
}

@Suite("Under load from h2load", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct HighLoadTests {
    private let site: TLSSite

    init() throws { site = try TLSSite() }
}

extension HighLoadTests {
    private func start(isTLS: Bool) throws -> (GatewayConfiguration, GatewayProcess, RepeatedLoad) {
        var configuration =
            isTLS ? site.configuration() : GatewayConfiguration(upstreamPort: site.upstream.port)
        configuration.workers = 2
        let gateway = try GatewayProcess(configuration)
        let load = RepeatedLoad(
            isTLS
                ? ["-m", "8", "https://127.0.0.1:\(gateway.port)/"]
                : ["--h1", "http://127.0.0.1:\(gateway.port)/"])
        load.waitForRun()
        return (configuration, gateway, load)
    }

    @Test("reload after reload fails no request", arguments: [false, true])
    func reloads(isTLS: Bool) throws {
        let (configuration, gateway, load) = try start(isTLS: isTLS)
        var other = configuration
        other.routes.insert(.init("extra", path: "/extra/*"), at: 0)
        for round in 0..<10 {
            let event = try gateway.reload(round % 2 == 0 ? other : configuration)
            #expect(event["event"]?.stringValue == "reloaded")
            load.waitForRun()
        }
        for count in load.stop() { #expect(count.isClean && count.isWhole, "\(count)") }
        #expect(gateway.alarms.isEmpty)
    }

    /// h2load opens no connection in place of one that ended in good order with HTTP/2, and counts
    /// as started, and failed, what it would have sent after the GOAWAY. So there it is the gateway
    /// that says how many requests came: each was answered, and each answer has arrived.
    @Test("upgrade after upgrade fails no request", arguments: [false, true])
    func upgrades(isTLS: Bool) throws {
        let (_, gateway, load) = try start(isTLS: isTLS)
        for _ in 0..<2 {
            let index = gateway.current.lines(on: .standardError).count
            gateway.current.send(signal: SIGUSR2)
            try gateway.waitForEvent("ready", from: index)
            load.waitForRun()
        }
        let counts = load.stop()
        if isTLS {
            #expect(try gateway.terminate() == .exited(0))
            let answers = try gateway.accessLines(counts.reduce(0) { $0 + $1.succeededCount })
            #expect(answers.allSatisfy { $0["status"]?.integerValue == 200 })
            let answeredCount = answers.count
            #expect(answeredCount == counts.reduce(0) { $0 + $1.succeededCount }, "\(counts)")
            #expect(answeredCount > 0)
        } else {
            for count in counts { #expect(count.isClean && count.isWhole, "\(count)") }
        }
        #expect(gateway.alarms.isEmpty)
    }
}
