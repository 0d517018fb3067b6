import Bytes
import HTTP
import Policy
import Settings
import Telemetry

/// The admin listener: health, metrics and a status page. Nothing here reaches an upstream.
extension Exchange {
    func answerAdmin(path: Span<UInt8>) throws(Refusal) -> Step {
        guard head.methodKind == .get || head.methodKind == .head else {
            throw Refusal(.methodNotAllowed, detail: "admin")
        }
        decision = .answered
        switch String(decoding: path.array, as: UTF8.self) {
        case "/livez": return answer(text(200, "ok\n"))
        case "/readyz": return answer(readiness())
        case "/metrics":
            let page = MetricsPage.text(worker.hub, site: site)
            return answer(
                LocalResponse(
                    status: 200, contentType: PrometheusText.contentType,
                    body: page.readable.array))
        case "/": return answer(StatusPage.response(worker.hub, site: site))
        default: throw Refusal(.notFound, detail: "admin")
        }
    }

    private func readiness() -> LocalResponse {
        let health = worker.hub.health
        if health.isDraining { return text(503, "draining\n") }
        var failing: [String] = []
        if site.settings.routes.contains(where: { $0.attest.mode == .enforce }) {
            if !health.isRegistryReady { failing.append("registry") }
            // Each worker has a connection of its own; the embedded store is there from the start.
            let isReached =
                worker.hub.embeddedCounters != nil
                || health.countersReachedCount >= worker.hub.meters.count
            if !isReached { failing.append("counters") }
        }
        guard failing.isEmpty else {
            return text(503, "unavailable: " + failing.joined(separator: ", ") + "\n")
        }
        return text(200, "ready\n")
    }

    private func text(_ status: UInt16, _ body: String) -> LocalResponse {
        LocalResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array(body.utf8))
    }
}
