import Administration
import EventLoop
import KeyStore
import Settings

/// `sallyport audit`: lists the changes that were made by hand, with author and time.
enum AuditCommand {
    static let usage = """
        usage: sallyport audit [-c FILE] [--since TIME] [--limit N] [--before NUMBER] [--json]

          --since TIME      only what was done since then: an RFC 3339 time such as
                            2026-09-21T10:00:00Z, or a duration before now such as 30m or 7d
          --limit N         print at most N entries (default: 100)
          --before NUMBER   only entries before this one: the next page
          --json            print one JSON object for each entry

        Prints the changes of keys, rollouts and tokens that were made by commands and by the admin
        API, the newest first. The registry keeps the last \(AuditEntry.keptCountMax).
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config", "--since", "--limit", "--before"],
            flags: ["--json"], usage: usage)
        arguments.refuseOperands(usage: usage)
        let filter = filter(arguments)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let settings = ConfigurationFile.loadOrExit(path).settings
        do {
            let registry = try Stores.administration(settings)
            registry.warn(ofChange: false)
            var output = OutputBatch()
            for entry in try registry.audit(filter) {
                output.add(arguments.wantsJSON ? AuditLine.text(entry) : text(entry))
            }
            output.flush()
        } catch {
            Exit.failed("\(error)")
        }
    }

    private static func filter(_ arguments: Arguments) -> AuditFilter {
        var filter = AuditFilter()
        if let text = arguments.value("--limit") {
            guard let limit = Int(text), limit > 0 else {
                Exit.usage("--limit: \(text) is not a number above 0")
            }
            filter.countMax = limit
        }
        if let text = arguments.value("--before") {
            guard let number = Int64(text), number > 0 else {
                Exit.usage("--before: \(text) is not the number of an entry")
            }
            filter.before = number
        }
        if let text = arguments.value("--since") {
            if let seconds = WallClock.seconds(fromTimestamp: text) {
                filter.since = seconds * 1000
            } else if let age = DeveloperTokenSettings.life(text) {
                filter.since = (WallClock.now().seconds - age.components.seconds) * 1000
            } else {
                Exit.usage(
                    "--since: \(text) is neither an RFC 3339 time such as 2026-09-21T10:00:00Z "
                        + "nor a duration such as 30m or 7d")
            }
        }
        return filter
    }

    /// An entry as a line. Names of users and machines are escaped, because others choose them.
    private static func text(_ entry: AuditEntry) -> String {
        let author = entry.author
        var text = "#\(entry.number) \(AuditLine.time(entry)) \(author.name)"
        text += " (\(author.way.rawValue), \(author.origin)): \(entry.note.action)"
        if !entry.note.subject.isEmpty { text += " \(entry.note.subject)" }
        text += ": \(entry.note.outcome)"
        if !entry.note.detail.isEmpty { text += ", \(entry.note.detail)" }
        return TerminalText.escaped(text + "; request \(author.requestID)")
    }
}
