import Foundation
import Testing

@Suite("Guarantees")
struct GuaranteeTests {}

extension GuaranteeTests {
    private static let path = "docs/proof/guarantees.md"

    /// The names behind *Shown by*, each with the number of its line.
    private static func names(_ document: SourceFile) -> [(line: Int, name: String)] {
        document.lines.enumerated().flatMap { offset, line -> [(line: Int, name: String)] in
            guard line.hasPrefix("  Shown by ") else { return [] }
            return line.matches(of: /`([^`]+)`/).map { (offset + 1, String($0.output.1)) }
        }
    }

    @Test("every promise names a test that exists")
    func tests() throws {
        let document = try #require(SourceTree.read(Self.path), "\(Self.path) is not there")
        let names = Self.names(document)
        let promiseCount = document.lines.count { $0.hasPrefix("- ") }
        #expect(promiseCount > 8 && names.count >= promiseCount)
        let findings = names.filter { _, name in
            !SourceTree.textsInTests.contains(name[...])
        }.map { document.finding(line: $0.line, "no test is called `\($0.name)`") }
        #expect(findings.isEmpty, "\(report(findings))")
    }
}
