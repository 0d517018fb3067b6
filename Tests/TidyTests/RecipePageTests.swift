import Testing

/// The pages in `docs/recipes` show the files that are copied and tried, and no others.
@Suite("What the recipes say")
struct RecipePageTests {}

extension RecipePageTests {
    private static let folder = "docs/recipes/"

    private static var pages: [SourceFile] {
        SourceTree.files.filter { $0.path.hasPrefix(folder) && $0.path.hasSuffix(".md") }
    }

    /// A path from a page to a file of this repository.
    private static func path(of link: Substring) -> String {
        link.hasPrefix("../../") ? String(link.dropFirst(6)) : folder + link
    }

    @Test("docs/recipes/README.md leads to every recipe, and README and the operator's pages to it")
    func overview() throws {
        let overview = try #require(SourceTree.read(Self.folder + "README.md"))
        #expect(Self.pages.count == 10)
        for page in Self.pages where page.path != overview.path {
            let name = page.path.dropFirst(Self.folder.count)
            #expect(overview.text.contains("](\(name))"), "\(name)")
        }
        for (path, link) in [
            ("README.md", "](docs/recipes/README.md)"),
            ("docs/operations/README.md", "](../recipes/README.md)"),
        ] {
            #expect(try #require(SourceTree.read(path)).text.contains(link), "\(path)")
        }
    }

    @Test("a block behind a link to a file is that file, letter for letter")
    func files() throws {
        var shown: Set<String> = []
        for page in Self.pages {
            let blocks = page.text.matches(
                of: #/\]\(([^)#]+)\):\n\n```[a-z]+\n((?s).*?)```\n/#)
            for block in blocks {
                let path = Self.path(of: block.output.1)
                guard let file = SourceTree.read(path) else { continue }
                shown.insert(path)
                #expect(file.text == block.output.2, "\(page.path) shows another \(path)")
            }
        }
        // What has to be typed in or copied as it is; programs are linked.
        for file in SourceTree.files where file.path.hasPrefix(Self.folder) {
            guard !file.path.hasSuffix(".md"), !file.path.hasSuffix(".py") else { continue }
            #expect(shown.contains(file.path), "no recipe shows \(file.path)")
        }
        #expect(shown.count > 9)
    }

    @Test("each recipe has a test that names it")
    func tests() {
        let tests = SourceTree.files.filter { $0.path.hasPrefix("Tests/RecipeTests/") }
        for page in Self.pages where !page.path.hasSuffix("README.md") {
            #expect(
                tests.contains { $0.text.contains("`\(page.path)`") }, "nothing tries \(page.path)")
        }
    }
}
