import Foundation
import Testing

@Suite("The workbench of app teams")
struct WorkbenchTests {}

extension WorkbenchTests {
    private static let page = "docs/client/behaviour.md"
    private static let source = "Sources/sallyport-lab/Device/RefusalAdvice.swift"

    /// The cells of the table of actions.
    private static func rows() throws -> [[String]] {
        let text = try #require(SourceTree.read(page)?.text)
        let rest = try #require(text.components(separatedBy: "| action | of an enrolment |").last)
        return rest.components(separatedBy: "\n\n")[0].split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("`sallyport-lab device` says of each action what docs/client/behaviour.md says")
    func actions() throws {
        let rows = try Self.rows()
        #expect(rows.count == 5)
        let code = try #require(SourceTree.read(Self.source)?.text)
        for cells in rows.map({ $0.dropFirst() }) {
            for cell in cells where cell != "likewise" {
                let words = cell.replacing(#/\[([^\]]+)\]\([^)]+\)/#) { "\($0.output.1)" }
                #expect(code.contains("\"\(words)\""), "\(Self.source) does not say: \(words)")
            }
        }
    }
}
