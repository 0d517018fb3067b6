import EventLoop
import Foundation
import GatewayTesting
import JSON
import Settings
import Testing

@testable import Gateway

@Suite("Events that come in crowds")
struct EventThrottleTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)
}

extension EventThrottleTests {
    @Test("of each kind a hundred a minute are written, and the others are counted and told")
    func crowd() {
        var throttle = EventThrottle()
        let admitted = (0..<5000).count { _ in throttle.admits("server_failing", at: start) }
        let isOtherAdmitted = throttle.admits("store_down", at: start)
        #expect(admitted == EventThrottle.countMax && isOtherAdmitted)
        let early = throttle.takeLeftOut(at: start + .seconds(59))
        let leftOut = throttle.takeLeftOut(at: start + .seconds(60))
        let late = throttle.takeLeftOut(at: start + .seconds(120))
        #expect(early.isEmpty && late.isEmpty)
        #expect(leftOut.map(\.name) == ["server_failing"] && leftOut.map(\.count) == [4900])
        let isAdmittedAgain = throttle.admits("server_failing", at: start + .seconds(60))
        #expect(isAdmittedAgain)
        #expect(throttle.counts == ["server_failing": 5001, "store_down": 1])
    }

    @Test("what is left out is counted also if nobody asks for long")
    func unasked() {
        var throttle = EventThrottle()
        for _ in 0..<150 { _ = throttle.admits("a", at: start) }
        let later = start + .seconds(300)
        let admitted = (0..<10).count { _ in throttle.admits("a", at: later) }
        let leftOut = throttle.takeLeftOut(at: later)
        #expect(admitted == 0 && leftOut.map(\.count) == [60])
    }

    @Test("a server that fails and answers in turn fills no log, and a metric has the number")
    func flappingServer() throws {
        let path = NSTemporaryDirectory() + "sallyport-events-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let gateway = try GatewayUnderTest(upstream: { request in
            request.target == "/fail" ? UpstreamAnswer([], then: .close) : .response()
        }) {
            $0.log.events = .file(path: path)
        }
        let client = try gateway.client()
        let rounds = EventThrottle.countMax + 20
        for _ in 0..<rounds {
            // The first finds the last round's connection closed, which is nobody's failure.
            for _ in 0..<4 { #expect(try client.exchange("POST", "/fail").status == 502) }
            #expect(try client.exchange("POST", "/x").status == 200)
        }
        let page = try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
        #expect(page.contains("sallyport_events_total{event=\"server_failing\"} \(rounds)\n"))
        gateway.hub.logs.tellLeftOut(at: MonotonicInstant.now() + .seconds(60))
        gateway.stop()
        gateway.hub.logs.close()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let told = lines.count { $0.contains("\"server_failing\"") }
        #expect(told == EventThrottle.countMax)
        #expect(lines.contains { $0.contains("20 more of server_failing") })
    }
}
