import Bytes
import JSON

/// The score card of a client.
struct TrialCard {
    struct Row {
        let act: TrialAct
        /// The mistakes; nil if the client never came so far.
        let mistakes: [TrialMistake]?
    }

    /// The seed of the acts' order.
    let seed: UInt64
    var rows: [Row] = []
    /// The mistakes that no single act shows.
    var overall: [TrialMistake] = []

    init(seed: UInt64) { self.seed = seed }

    private var passedCount: Int { rows.count { $0.mistakes?.isEmpty == true } }
    var isFaultless: Bool { passedCount == rows.count && overall.isEmpty }

    var text: String {
        let width = rows.map(\.act.name.count).max() ?? 0
        var lines: [String] = []
        func change(_ advice: TrialAdvice, margin: Int) {
            let space = String(repeating: " ", count: margin)
            lines.append("\(space)change: \(advice.change)\n\(space)see \(advice.section)")
        }
        for row in rows {
            let name =
                row.act.name + String(repeating: " ", count: width - row.act.name.count)
            switch row.mistakes {
            case nil: lines.append("\(name)  ----   not reached")
            case let mistakes? where mistakes.isEmpty:
                lines.append("\(name)  ok     \(row.act.story)")
            case let mistakes?:
                for mistake in mistakes {
                    lines.append("\(name)  WRONG  \(mistake.text)")
                    change(mistake.advice, margin: width + 9)
                }
            }
        }
        for mistake in overall {
            lines.append("WRONG  \(mistake.text)")
            change(mistake.advice, margin: 7)
        }
        if rows.contains(where: { $0.mistakes == nil }) { change(.notReached, margin: 0) }
        lines.append("\(passedCount) of \(rows.count), --seed \(seed)")
        return lines.joined(separator: "\n")
    }

    /// The card as `{"passed", "of", "seed", "acts": [{"name", "story", "reached", "mistakes",
    /// "advice"}], "mistakes", "advice"}`, with advice `{"change", "see"}` for each mistake, and
    /// for an act that was not reached.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("passed", int: Int64(passedCount))
        writer.member("of", int: Int64(rows.count))
        writer.member("seed", unsigned: seed)
        writer.beginArray("acts")
        for row in rows {
            writer.beginObject()
            writer.member("name", string: row.act.name)
            writer.member("story", string: row.act.story)
            writer.member("reached", bool: row.mistakes != nil)
            Self.write(row.mistakes, to: &writer)
            writer.endObject()
        }
        writer.endArray()
        Self.write(overall, to: &writer)
        writer.endObject()
        let buffer = writer.finish()
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }

    private static func write(_ mistakes: [TrialMistake]?, to writer: inout JSONWriter) {
        writer.beginArray("mistakes")
        for mistake in mistakes ?? [] { writer.element(string: mistake.text) }
        writer.endArray()
        writer.beginArray("advice")
        for advice in mistakes?.map(\.advice) ?? [.notReached] {
            writer.beginObject()
            writer.member("change", string: advice.change)
            writer.member("see", string: advice.section)
            writer.endObject()
        }
        writer.endArray()
    }

    /// The acts, each with the changes that its rules may ask for.
    static func list(_ acts: [TrialAct]) -> String {
        acts.map { act in
            let advice = act.rules.map { "    \($0.advice.change)\n    see \($0.advice.section)\n" }
            return "\(act.name): \(act.story)\n" + advice.joined()
        }.joined(separator: "\n")
    }
}
