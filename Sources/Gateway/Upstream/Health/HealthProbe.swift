import Bytes
import EventLoop
import HTTP
import Judgement
import Settings

/// The health checks of one server: the gateway's own requests, one after another, on the control
/// thread. They take the way of every request, so they prove what requests need.
final class HealthProbe: UpstreamRequest {
    private let host: any UpstreamHost
    let upstream: String
    let settings: HealthCheckSettings
    let server: ServerState
    private var tally: HealthTally
    /// The connection or stream of the present request.
    private var connection: (any RequestSink)?
    private var head: [UInt8] = []
    private(set) var sentAt = MonotonicInstant(nanoseconds: 0)
    private var status: UInt16 = 0
    private var timer: Timer?
    private var limit: Timer?

    init(
        host: any UpstreamHost, upstream: String, settings: HealthCheckSettings, server: ServerState
    ) {
        self.host = host
        self.upstream = upstream
        self.settings = settings
        self.server = server
        tally = HealthTally(settings)
        server.isDown = false
        timer = Timer(loop: host.loop) { [unowned self] in check() }
        limit = Timer(loop: host.loop) { [unowned self] in timeOut() }
        // Spread from the start: many gateways may be started at once.
        scheduleNext(after: 0.0...1.0)
    }

    /// Ends the checks of this server, and forgets their results.
    func stop() {
        timer = nil
        limit = nil
        server.isDown = false
        abandon()
    }

    private func abandon() {
        connection?.abandon()
        connection = nil
    }

    private func scheduleNext(after shares: ClosedRange<Double>) {
        timer?.schedule(after: settings.interval * Double.random(in: shares))
    }

    private func check() {
        let site = host.site
        guard let index = site.settings.upstreams.firstIndex(where: { $0.name == upstream }),
            let connection = host.pool(for: site, upstream: index).connectForCheck(to: server)
        else { return scheduleNext(after: 0.9...1.1) }
        head = Array(requestHead.utf8)
        status = 0
        self.connection = connection
        sentAt = host.loop.now
        limit?.schedule(after: settings.timeout)
        connection.send(self)
    }

    private var requestHead: String {
        let host = settings.host ?? (server.address.isUnix ? "localhost" : server.text)
        return "GET \(settings.path) HTTP/1.1\r\nHost: \(host)\r\n"
            + "User-Agent: sallyport-health-check\r\nConnection: close\r\n\r\n"
    }

    private func timeOut() {
        guard connection != nil else { return }
        abandon()
        conclude("no answer in time")
    }

    /// Ends a check without a result about the server.
    private func skip() {
        connection = nil
        limit?.cancel()
        scheduleNext(after: 0.9...1.1)
    }

    /// Ends a check. `fault` is nil if it passed.
    private func conclude(_ fault: String?) {
        limit?.cancel()
        scheduleNext(after: 0.9...1.1)
        guard tally.add(isPassed: fault == nil) else { return }
        server.isDown = !tally.isUp
        if tally.isUp {
            server.returned(now: host.loop.now.nanoseconds)
            host.log.event(level: "info", "server_up", "\(upstream) \(server.text): answers")
        } else {
            host.log.event("server_down", "\(upstream) \(server.text): \(fault ?? "")")
        }
    }

    // MARK: the request

    var methodKind: HTTP.Method { .get }
    var headByteCount: Int { head.count }
    func withHead<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        let head = head
        return use(head.span)
    }

    func headNanoseconds(_ timeouts: UpstreamTimeouts) -> UInt64 { timeouts.response }

    func bodyNanoseconds(_ timeouts: UpstreamTimeouts, isTunnel: Bool) -> UInt64 { timeouts.read }

    // MARK: the answer

    func upstreamSentHead(_ response: borrowing ResponseHead, bytes: Span<UInt8>) -> Bool {
        status = response.status
        return true
    }

    func upstreamEnded(_ trailers: TrailerSection?) {
        connection = nil
        conclude(settings.status.contains(Int(status)) ? nil : "status \(status)")
    }

    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool
    ) {
        // A gateway without a free descriptor says nothing about the server.
        guard failure != .exhausted else { return skip() }
        connection = nil
        conclude(failure.text)
    }

    func upstreamHadNoPlace() { skip() }
}
