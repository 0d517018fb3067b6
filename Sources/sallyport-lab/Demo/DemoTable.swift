/// The demo's rows as a table for people.
struct DemoTable {
    /// What a table says beside the request and its status.
    enum Kind {
        case requests
        /// Requests to the AI service, with what is left of their quota.
        case chats
    }

    private let heading: [String]
    private let rows: [(cells: [String], isExpected: Bool)]

    /// `first`: the number of the first row in the upstream's log.
    init(_ kind: Kind, rows: ArraySlice<DemoRow>, first: Int, log: UpstreamLog) {
        let isOfChats = kind == .chats
        heading =
            ["", "what was sent", "request", "status", "code"]
            + (isOfChats
                ? ["tokens left", "the AI service saw the request"] : ["nginx saw the request"])
        self.rows = rows.enumerated().map { index, row in
            let seen = log[first + index]
            let isExpected = row.isExpected(seen)
            var cells = [
                isExpected ? "ok" : "WRONG", row.title, row.request, "\(row.status)", row.code,
            ]
            if isOfChats { cells.append(row.left.map { "\($0)" } ?? "-") }
            cells.append(Self.describe(seen, row))
            return (cells, isExpected)
        }
    }

    private static func describe(_ seen: SeenRequest?, _ row: DemoRow) -> String {
        guard let seen else { return "no" }
        guard seen.request == row.request else { return "another one: \(seen.request)" }
        guard seen.result != "-" || seen.key != "-" else { return "no X-Attest-*" }
        let words = [seen.tier, seen.level].filter { !["none", "-"].contains($0) }
        let proof = words.isEmpty ? "" : " (\(words.joined(separator: ", ")))"
        let key = seen.key == "-" ? "" : ", key \(seen.key.prefix(8))"
        let chat = seen.chat.map { $0.endedEarly ? ", ended early" : ", \($0.tokenCount) tokens" }
        return seen.result + proof + key + (chat ?? "")
    }

    var isAsExpected: Bool { rows.allSatisfy(\.isExpected) }

    var text: String {
        let all = [heading] + rows.map(\.cells)
        let widths = heading.indices.map { column in
            all.map { $0[column].count }.max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            var line = ""
            for (cell, width) in zip(cells, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
        let rule = widths.map { String(repeating: "-", count: $0) }
        return ([heading, rule] + rows.map(\.cells)).map(line).joined(separator: "\n")
    }
}
