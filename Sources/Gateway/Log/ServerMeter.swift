import Telemetry

/// An upstream and one of its servers: labels of metrics.
struct ServerLabel: Hashable, Sendable {
    let upstream: String
    let server: String
}

/// The counts of one worker about one upstream server. Only its thread writes them.
final class ServerMeter: Sendable {
    private let counts = CountBlock(count: 2)
    private let gauges = GaugeBlock(count: 1)

    func countRequest() { counts.add(0) }
    func countFailure() { counts.add(1) }
    func connections(_ count: Int) { gauges.set(0, Int64(count)) }

    // From any thread.
    var requestCount: UInt64 { counts.value(0) }
    var failureCount: UInt64 { counts.value(1) }
    var connectionCount: Int64 { gauges.value(0) }
}
