import Bytes
import HTTP
import Policy
import Settings
import Telemetry

/// The admin listener: health, metrics and a status page. Nothing here reaches an upstream.
extension Exchange {
    func answerAdmin(path: Span<UInt8>) throws(Refusal) -> Step {
        if let action = DeviceAction(path: path) { return try begin(action) }
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
        case "/identity/jwks.json": return answer(try keySet())
        case "/": return answer(StatusPage.response(worker.hub, site: site))
        default: throw Refusal(.notFound, detail: "admin")
        }
    }

    private func readiness() -> LocalResponse {
        if worker.hub.health.isDraining { return text(503, "draining\n") }
        let failing = worker.hub.missingStores(for: site)
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
