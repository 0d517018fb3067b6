import Testing

/// The list in `docs/architecture.md` of what threads with a loop may wait for.
@Suite("Waits")
struct WaitTests {
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
                && file.code.lines.contains { $0.contains(Self.call) }
        }
        let names = Set(calling.compactMap { $0.path.split(separator: "/").last.map(String.init) })
        #expect(listed == names)
    }

    /// The names in `EventLoop` of what calls the file system.
    private static var call: Regex<(Substring, Substring)> {
        /\b(File\.|RegularFile|OwnedFile|TemporaryFile|SocketFile|FileLock|MappedFile)/
    }
}
