import EventLoop

/// `/` of the admin listener: the gateway's state as plain tables, which the script replaces by the
/// live page. Without the script they show the state at the time of loading.
enum StatusPage {
    /// Nothing may be loaded from elsewhere, nothing is inline, and no script can turn text into
    /// markup.
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
        html += routes(document) + versions(document) + failures(document) + lastHour(document)
        html += refusals(document) + servers(document) + issuers(document)
        html += quotas(document) + state(document)
        html += """
            <footer class="dim"><a href="metrics">metrics</a> ·
            <a href="status.json">status.json</a> ·
            <a href="refusals.json">refusals.json</a> ·
            documentation in the Debian package:
            <code>/usr/share/doc/sallyport/html</code></footer>
            </main>
            </html>

            """
        return Array(html.utf8)
    }

    private static func list(_ verdict: StatusVerdict) -> String {
        guard !verdict.others.isEmpty else { return "" }
        return "<ul>"
            + verdict.others.map {
                "<li class=\"\($0.level.name)\">\(escaped($0.text)) \(escaped($0.remedy))</li>"
            }.joined(separator: "\n") + "</ul>\n"
    }

    static func table(
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

    /// Escapes text of operators and strangers, which must not become markup.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // HTML has no text for most of these characters, nor for those that turn the direction
            // of a line.
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{202A}"..."\u{202E}",
                "\u{2066}"..."\u{2069}":
                result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
