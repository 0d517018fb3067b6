import Bytes
import JSON

/// The score card of a client.
struct TrialCard {
    struct Row {
        let act: TrialAct
        /// The mistakes; nil if the client never came so far.
        let mistakes: [String]?
    }

    var rows: [Row] = []
    /// The mistakes that no single act shows.
    var overall: [String] = []

    private var passedCount: Int { rows.count { $0.mistakes?.isEmpty == true } }
    var isFaultless: Bool { passedCount == rows.count && overall.isEmpty }

    var text: String {
        let width = rows.map(\.act.name.count).max() ?? 0
        var lines: [String] = []
        for row in rows {
            let name =
                row.act.name + String(repeating: " ", count: width - row.act.name.count)
            let verdict =
                switch row.mistakes {
                case nil: "----   not reached"
                case let mistakes? where mistakes.isEmpty: "ok     \(row.act.story)"
                case let mistakes?: "WRONG  \(mistakes.joined(separator: "; "))"
                }
            lines.append("\(name)  \(verdict)")
        }
        lines += overall.map { "WRONG  \($0)" }
        lines.append("\(passedCount) of \(rows.count)")
        return lines.joined(separator: "\n")
    }

    /// The card as `{"passed", "of", "acts": [{"name", "story", "reached", "mistakes"}],
    /// "mistakes"}`.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("passed", int: Int64(passedCount))
        writer.member("of", int: Int64(rows.count))
        writer.beginArray("acts")
        for row in rows {
            writer.beginObject()
            writer.member("name", string: row.act.name)
            writer.member("story", string: row.act.story)
            writer.member("reached", bool: row.mistakes != nil)
            writer.beginArray("mistakes")
            for mistake in row.mistakes ?? [] { writer.element(string: mistake) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.beginArray("mistakes")
        for mistake in overall { writer.element(string: mistake) }
        writer.endArray()
        writer.endObject()
        let buffer = writer.finish()
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }
}
