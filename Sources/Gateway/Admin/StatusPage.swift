import Background
import EventLoop
import Judgement
import Policy
import Settings

/// `/` of the admin listener: the state of things as plain tables, which the script replaces by the
/// live page. Without the script they are true when they are loaded.
enum StatusPage {
    /// Nothing from elsewhere, nothing inline, and no way for a script to turn text into markup.
    static let contentSecurityPolicy = """
        default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
        img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    static func html(_ document: StatusDocument) -> [UInt8] {
        let verdict = document.verdict
        var html = """
            <!doctype html>
            <html lang="en" class="static">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>Sallyport</title>
            <link rel="stylesheet" href="status.css">
            <link rel="icon" href="data:,">
            <script src="status.js" defer></script>
            <header class="bar"><h1>Sallyport</h1>
            <span class="dim">\(escaped(document.hub.version))</span>
            <span id="live" class="live dim">as of \
            \(WallClock.timestamp(seconds: document.wall.seconds)); reload to see more</span>
            </header>
            <main id="main">
            <section class="verdict \(verdict.level.name)" aria-label="Verdict">
            <p class="sentence">\(escaped(verdict.sentence))</p>

            """
        html += list(verdict)
        html += "</section>\n"
        html += routes(document) + versions(document) + servers(document)
        html += state(document) + refusals(document)
        html += """
            <footer class="dim"><a href="metrics">metrics</a> ·
            <a href="status.json">status.json</a> ·
            <a href="refusals.json">refusals.json</a></footer>
            </main>
            </html>

            """
        return Array(html.utf8)
    }

    private static func list(_ verdict: StatusVerdict) -> String {
        guard verdict.problems.count > 1 else { return "" }
        return "<ul>"
            + verdict.problems.dropFirst().map {
                "<li class=\"\($0.level.name)\">\(escaped($0.text)) \(escaped($0.remedy))</li>"
            }.joined(separator: "\n") + "</ul>\n"
    }

    private static func routes(_ document: StatusDocument) -> String {
        let buckets = RequestBucket.allCases
        let rows = MetricsPage.meters(document.hub).filter { $0.route != "none" }.map {
            route, meters -> [String] in
            let counts = buckets.map { bucket in
                meters.reduce(0) {
                    $0 &+ $1.count(bucket, .enforced) &+ $1.count(bucket, .observed)
                }
            }
            let refused = meters.reduce(0) { sum, meter in
                Reason.allCases.reduce(sum) { $0 &+ meter.count(.refused, $1) }
            }
            return [route, "\(refused)", "\(meters.reduce(0) { $0 &+ $1.wouldBeRefusedCount })"]
                + counts.map { "\($0)" }
        }
        return table(
            "Requests since the start",
            ["route", "refused", "would be refused"] + bucketNames, rows)
    }

    private static func versions(_ document: StatusDocument) -> String {
        let hub = document.hub
        let ids = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.appIDs) }
        let rows = ids.sorted().flatMap { id -> [[String]] in
            var counts = AppCounts()
            for meter in hub.meters { meter.addCounts(of: id, to: &counts) }
            return hub.historyVersions.rows(of: id, counts)
                .filter { $0.counts.contains { $0 > 0 } }
                .map { [id, $0.version] + $0.counts.map { "\($0)" } }
        }
        return table(
            "Apps and versions since the start", ["app", "version"] + bucketNames, rows)
    }

    private static let bucketNames = RequestBucket.allCases.map {
        $0.name.description.replacing("_", with: " ")
    }

    private static func servers(_ document: StatusDocument) -> String {
        table(
            "Upstream servers",
            ["upstream", "server", "state", "requests", "failures", "connections"],
            ServerFigures.all(document.hub).map {
                [
                    $0.label.upstream, $0.label.server, $0.state, "\($0.requestCount)",
                    "\($0.failureCount)", "\($0.connectionCount)",
                ]
            })
    }

    private static func state(_ document: StatusDocument) -> String {
        let (hub, site) = (document.hub, document.site)
        let health = hub.health
        return table(
            "Gateway", ["part", "state"],
            [
                ["registry", health.isRegistryReady ? "up" : "down"],
                ["counters", health.areCountersReady ? "up" : "down"],
                ["configuration", "generation \(site.generation)"],
                ["last reload", hub.reloads.failure.map { "failed: \($0)" } ?? "in order"],
                ["receipts", receipts(document)],
            ])
            + table(
                "Rollouts", ["rollout", "share", "status"],
                RolloutFigures.all(site).map {
                    [
                        $0.name, $0.percent.map { "\($0)%" } ?? "unknown",
                        $0.state?.changeText ?? ($0.isByPlan ? "unknown" : "configured"),
                    ]
                })
            + table(
                "Certificates", ["listener", "name", "ends"],
                ListenerCertificate.all(site).map {
                    [$0.listener, $0.name, WallClock.timestamp(seconds: $0.notAfter)]
                })
    }

    private static func receipts(_ document: StatusDocument) -> String {
        let meter = document.hub.renewalMeter
        guard meter.isOn else { return "not renewed" }
        guard meter.holdsLease else { return "another gateway renews them" }
        var text = "this gateway renews them, due \(meter.dueCount)"
        if meter.dueCount > 0 {
            text += ", the oldest for \(meter.overdueSeconds(at: document.wall.seconds)) s"
        }
        if let pause = meter.pause { text += ", paused: \(pause.rawValue)" }
        return text
    }

    private static func refusals(_ document: StatusDocument) -> String {
        table(
            "Refusals", ["time", "request", "route", "path", "reason", "detail", "cause"],
            RefusalsDocument.records(document.hub).prefix(refusalCountMax).map {
                [
                    WallClock.timestamp(seconds: $0.seconds),
                    String(decoding: $0.requestID, as: UTF8.self), $0.route ?? "",
                    String(decoding: $0.path, as: UTF8.self), $0.reason.code.description,
                    $0.detail ?? "", $0.explanation?.meaning ?? "",
                ]
            })
    }

    private static func table(
        _ title: String, _ heads: [String], _ rows: [[String]]
    ) -> String {
        guard !rows.isEmpty else { return "" }
        let head = heads.map { "<th scope=\"col\">\(escaped($0))</th>" }.joined()
        let body = rows.map { row in
            "<tr>" + row.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>"
        }
        return """
            <section class="card"><h2>\(escaped(title))</h2><div class="scroll"><table>
            <thead><tr>\(head)</tr></thead>
            <tbody>\(body.joined(separator: "\n"))</tbody></table></div></section>

            """
    }

    /// What operators and strangers write must not become markup.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // HTML has no text for most of these, nor for what turns the direction of a line.
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{202A}"..."\u{202E}",
                "\u{2066}"..."\u{2069}":
                result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Without a script there is no search either: the first screens of them.
    private static let refusalCountMax = 50
}
