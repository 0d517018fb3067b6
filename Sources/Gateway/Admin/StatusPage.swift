import Background
import EventLoop
import Judgement
import Policy
import Settings

/// `/` of the admin listener: a page for people, without scripts.
enum StatusPage {
    static func response(_ hub: Hub, site: Site) -> LocalResponse {
        var html = """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Sallyport</title>
            <style>body{font:16px sans-serif;margin:2em}table{border-collapse:collapse}
            td,th{padding:.3em .8em;border-bottom:1px solid #ccc;text-align:left}
            td.n{text-align:right}</style><h1>Sallyport</h1>

            """
        let health = hub.health
        html += "<p>registry: \(health.isRegistryReady ? "up" : "down"),"
        html += " counters: \(health.areCountersReady ? "up" : "down"),"
        html += " configuration generation \(site.generation)</p>\n"
        html += receipts(hub)
        if !site.settings.trust.extraRoots.isEmpty {
            html += "<p><strong>trust.extra_roots is set: for tests only.</strong></p>\n"
        }
        html += "<table><tr><th>route</th><th>decision</th><th>reason</th><th>count</th></tr>\n"
        for (route, meters) in MetricsPage.meters(hub) {
            for decision in Decision.allCases {
                for reason in Reason.allCases {
                    let count = meters.reduce(0) { $0 &+ $1.count(decision, reason) }
                    guard count > 0 else { continue }
                    html += "<tr><td>\(escaped(route))</td><td>\(decision.name)</td>"
                    html += "<td>\(reason.code)</td><td class=\"n\">\(count)</td></tr>\n"
                }
            }
        }
        html += "</table>" + rollouts(site)
        html += "<table><tr><th>upstream</th><th>server</th><th>state</th>"
        html += "<th>requests</th><th>failures</th><th>connections</th></tr>\n"
        for server in ServerFigures.all(hub) {
            html += "<tr><td>\(escaped(server.label.upstream))</td>"
            html += "<td>\(escaped(server.label.server))</td><td>\(server.state)</td>"
            html += "<td class=\"n\">\(server.requestCount)</td>"
            html += "<td class=\"n\">\(server.failureCount)</td>"
            html += "<td class=\"n\">\(server.connectionCount)</td></tr>\n"
        }
        html += "</table><p><a href=\"/metrics\">metrics</a></p>\n"
        var response = LocalResponse(
            status: 200, contentType: "text/html; charset=utf-8", body: Array(html.utf8))
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        response.fields.append(
            ("Content-Security-Policy", Array("default-src 'none'; style-src 'unsafe-inline'".utf8))
        )
        return response
    }

    private static func rollouts(_ site: Site) -> String {
        var html = "<table><tr><th>rollout</th><th>share</th><th>status</th><th>since</th></tr>\n"
        for rollout in RolloutFigures.all(site) {
            html += "<tr><td>\(escaped(rollout.name))</td>"
            html += "<td class=\"n\">\(rollout.percent.map { "\($0)%" } ?? "unknown")</td>"
            if let state = rollout.state {
                html += "<td>\(state.changeText)</td>"
                html += "<td>\(WallClock.timestamp(seconds: state.changedAt / 1000))</td></tr>\n"
            } else {
                html += "<td>\(rollout.isByPlan ? "unknown" : "configured")</td><td></td></tr>\n"
            }
        }
        return html + "</table>"
    }

    /// Route names are the operator's, but a name must not become markup.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
        return result
    }
}
