import Testing

/// What threads with a loop may wait for, by the list in `docs/architecture.md`, and how long tests
/// may take.
@Suite("Waits")
struct WaitTests {}

extension WaitTests {
    @Test("every file of the gateway that calls the file system is listed with its thread")
    func files() throws {
        let page = try #require(SourceTree.read("docs/architecture.md"))
        let start = try #require(page.lines.firstIndex(of: "These files call the file system:"))
        let rows = page.lines[start...].drop { !$0.hasPrefix("| ") }.prefix { $0.hasPrefix("| ") }
        let listed = Set(
            rows.flatMap { row in
                (row.split(separator: "|").first ?? "").matches(of: /`(\w+\.swift)`/)
                    .map { String($0.output.1) }
            })
        let calling = SourceTree.files.filter { file in
            ["Gateway", "Background"].contains(file.target)
                && file.mentions(["File"]) && file.code.lines.contains { $0.contains(Self.call) }
        }
        let names = Set(calling.compactMap { $0.path.split(separator: "/").last.map(String.init) })
        #expect(listed == names)
    }

    /// All tests of a process begin at once and then wait for one of a few threads, and that time
    /// counts. On a busy machine it has been more than five minutes.
    @Test("no test has a time limit that could end while it waits for its thread")
    func limits() {
        let findings = SourceTree.swiftFiles.filter {
            $0.isTest && $0.mentions(["timeLimit"])
        }.flatMap { file in
            file.lines.enumerated().compactMap { index, line -> Finding? in
                guard line.contains("timeLimit"),
                    let found = line.firstMatch(of: /timeLimit\(\.minutes\((\d+)\)\)/),
                    let minutes = Int(found.output.1), minutes < Self.minutesMin
                else { return nil }
                return file.finding(
                    line: index + 1, "\(minutes) minutes, at least \(Self.minutesMin)")
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    private static let minutesMin = 30

    /// The names in `EventLoop` of what calls the file system.
    private static var call: Regex<(Substring, Substring)> {
        /\b(File\.|RegularFile|OwnedFile|TemporaryFile|SocketFile|FileLock|MappedFile)/
    }
}
