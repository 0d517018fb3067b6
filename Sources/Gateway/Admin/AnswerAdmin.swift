import Background
import Bytes
import HTTP
import Judgement
import Policy
import Settings
import Telemetry

/// The pages that the admin listener shows without a token.
enum AdminPage: String {
    case liveness = "/livez"
    case readiness = "/readyz"
    case metrics = "/metrics"
    case identityKeys = "/identity/jwks.json"
    case status = "/"
    case statusStyle = "/status.css"
    case statusScript = "/status.js"
    case statusDocument = "/status.json"
    case refusals = "/refusals.json"

    /// True if a listener for `audience` gives this answer.
    func isShown(to audience: ListenerContext.Audience) -> Bool {
        switch (self, audience) {
        case (_, .administrators): false
        case (.liveness, _), (.readiness, _): true
        default: audience == .operators
        }
    }

    /// True if the answer tells of requests and clients. The other answers are for programs that
    /// may know the listener by any name, such as Prometheus.
    var isForBrowsers: Bool {
        switch self {
        case .status, .statusStyle, .statusScript, .statusDocument, .refusals: true
        case .liveness, .readiness, .metrics, .identityKeys: false
        }
    }
}

/// The admin listener: health, metrics and a status page. Nothing here reaches an upstream.
extension AdminDesk {
    func answerAdmin(path: Span<UInt8>) throws(Refusal) -> Step {
        let audience = client.listener.audience
        if audience == .administrators { return try beginAdministration(path: path) }
        if audience == .operators, let action = DeviceAction(path: path) {
            return try begin(action)
        }
        guard let page = AdminPage(rawValue: String(decoding: path.array, as: UTF8.self)),
            page.isShown(to: audience)
        else {
            throw Refusal(.notFound, .admin)
        }
        guard head.methodKind == .get || head.methodKind == .head else {
            throw Refusal(.methodNotAllowed, .admin, explanation: Self.otherMethods)
        }
        judge.answer()
        guard !page.isForBrowsers || isOwnHost else {
            return exchange.answer(
                text(
                    421,
                    "This page is shown under an address, localhost and the names of admin.hosts: "
                        + "a stranger may have led you here.\n"))
        }
        switch page {
        case .liveness: return exchange.answer(text(200, "ok\n"))
        case .readiness: return exchange.answer(readiness())
        case .metrics:
            let page = MetricsPage.text(services.hub, site: site)
            return exchange.answer(
                LocalResponse(
                    status: 200, contentType: PrometheusText.contentType,
                    body: page.readable.array))
        case .identityKeys: return exchange.answer(try endpoints.keySet())
        case .status: return exchange.answer(statusPage())
        case .statusStyle: return exchange.answer(statusStyle())
        case .statusScript: return exchange.answer(statusScript())
        case .statusDocument: return exchange.answer(statusDocument())
        case .refusals: return exchange.answer(refusalsDocument())
        }
    }

    /// True if Host names the listener as operators do.
    private var isOwnHost: Bool {
        guard case .tcp(let bound, _) = client.listener.bind, let host = head.host else {
            return true
        }
        let names =
            (site.settings.admin?.hosts ?? []) + [try? HostPattern(bound)].compactMap(\.self)
        return OwnHost.accepts(headBytes.span.extracting(host), names: names)
    }

    private func readiness() -> LocalResponse {
        if services.hub.health.isDraining { return text(503, "draining\n") }
        let failing = services.hub.missingStores(for: site)
        var lines = [
            failing.isEmpty ? "ready" : "unavailable: " + failing.joined(separator: ", ")
        ]
        let status: UInt16 = failing.isEmpty ? 200 : 503
        // A listener for probes shows no more than the status.
        guard client.listener.audience == .operators else { return text(status, lines[0] + "\n") }
        for store in failing {
            guard let reason = services.hub.health.outages.reason(of: store) else { continue }
            lines.append("\(store): " + reason.split(separator: "\n").joined(separator: "; "))
        }
        // Not a reason to be unready: all gateways of a registry would be so at once, and each
        // request is still judged.
        if let silence = services.hub.revocationSilence {
            lines.append("revocations unheard for \(silence.age.components.seconds) s")
        }
        // An issuer whose keys are missing does not make this gateway unready.
        let waiting = ForeignIssuer.withoutKeys(services.hub, site)
        if !waiting.isEmpty {
            lines.append("without keys of: " + waiting.joined(separator: ", "))
        }
        return text(status, lines.joined(separator: "\n") + "\n")
    }

    private func text(_ status: UInt16, _ body: String) -> LocalResponse {
        LocalResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array(body.utf8))
    }
}
