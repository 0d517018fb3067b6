import Bytes
import EventLoop
import HTTP
import Settings

/// The health checks of one server: exchanges of the gateway's own, one after the other, on the
/// control thread. They go the way of every request, so what they prove is what requests need.
final class HealthProbe: ResponseSink {
    /// Not held: the worker owns the checker, and outlives it.
    unowned(unsafe) private let worker: Worker
    let upstream: String
    let settings: HealthCheckSettings
    let server: ServerState
    private var tally: HealthTally
    private var exchange: Exchange?
    private var status: UInt16 = 0
    private var timer: Timer?
    private var limit: Timer?
    let peerBytes: [UInt8] = []

    init(worker: Worker, upstream: String, settings: HealthCheckSettings, server: ServerState) {
        self.worker = worker
        self.upstream = upstream
        self.settings = settings
        self.server = server
        tally = HealthTally(settings)
        server.isDown = false
        timer = Timer(loop: worker.loop) { [unowned self] in check() }
        limit = Timer(loop: worker.loop) { [unowned self] in timeOut() }
        // Spread from the start: many gateways may be started at once.
        scheduleNext(after: 0.0...1.0)
    }

    /// No check of this server from now on; what they said is forgotten.
    func stop() {
        timer = nil
        limit = nil
        server.isDown = false
        guard let exchange else { return }
        self.exchange = nil
        exchange.downstreamIsLost()
        worker.giveBack(exchange)
    }

    private func scheduleNext(after shares: ClosedRange<Double>) {
        timer?.schedule(after: settings.interval * Double.random(in: shares))
    }

    private func check() {
        let site = worker.site
        guard let index = site.settings.upstreams.firstIndex(where: { $0.name == upstream }),
            let connection = worker.pool(for: site, upstream: index).connectForCheck(to: server)
        else { return scheduleNext(after: 0.9...1.1) }
        let exchange = worker.takeExchange()
        exchange.begin(
            on: self, listener: worker.idleListener, peer: server.address, isPeerTrusted: false)
        exchange.isHealthCheck = true
        exchange.headStorage = Array(head.utf8)
        let bytes = exchange.headBytes
        _ = exchange.head.parse(bytes.span, limits: site.headLimits)
        exchange.upstreamHead.append(bytes.span)
        exchange.isBodyInHead = true
        exchange.upstream = connection
        exchange.phase = .relayResponse
        self.exchange = exchange
        status = 0
        limit?.schedule(after: settings.timeout)
        connection.send(exchange)
    }

    private var head: String {
        let host = settings.host ?? (server.address.isUnix ? "localhost" : server.text)
        return "GET \(settings.path) HTTP/1.1\r\nHost: \(host)\r\n"
            + "User-Agent: sallyport-health-check\r\nConnection: close\r\n\r\n"
    }

    private func timeOut() {
        guard let exchange else { return }
        self.exchange = nil
        exchange.downstreamIsLost()
        worker.giveBack(exchange)
        conclude("no answer in time")
    }

    /// `fault` is nil for a check that passed.
    private func conclude(_ fault: String?) {
        limit?.cancel()
        scheduleNext(after: 0.9...1.1)
        guard tally.add(isPassed: fault == nil) else { return }
        server.isDown = !tally.isUp
        if tally.isUp {
            server.returned(now: worker.loop.now.nanoseconds)
            worker.log.event(level: "info", "server_up", "\(upstream) \(server.text): answers")
        } else {
            worker.log.event("server_down", "\(upstream) \(server.text): \(fault ?? "")")
        }
    }

    // MARK: the answer

    func wantsBody() {}

    /// What the gateway would have told a client: the server gave no usable answer.
    func respond(_ response: LocalResponse) {}

    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange) {}

    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool {
        status = head.status
        return true
    }

    func relayBody(_ bytes: Span<UInt8>) -> Bool { true }
    func room() -> Int { .max }
    func flushResponse() {}
    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange) {}
    func endResponse() {}
    func resumeBody() {}

    func abortResponse() { status = 0 }

    func exchangeEnded() {
        guard let exchange else { return }
        // That the gateway has no descriptor left says nothing of the server.
        guard exchange.reason != .upstreamBusy else {
            self.exchange = nil
            worker.giveBack(exchange)
            limit?.cancel()
            return scheduleNext(after: 0.9...1.1)
        }
        let fault: String?
        if settings.status.contains(Int(status)) {
            fault = nil
        } else if status == 0 {
            fault = exchange.cause?.text ?? "no answer"
        } else {
            fault = "status \(status)"
        }
        self.exchange = nil
        worker.giveBack(exchange)
        conclude(fault)
    }
}
