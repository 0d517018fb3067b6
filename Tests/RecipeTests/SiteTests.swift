import Foundation
import GatewayTesting
import Testing

/// The website of the pages, which `scripts/site.sh` builds.
@Suite("The website", .timeLimit(.minutes(30)))
struct SiteTests {
    private static let tools = Repository.path(of: ".build/site/python")
    /// True if `scripts/install.sh` could reach the Python package index: the list comes last.
    private static let isInstalled = FileManager.default.fileExists(
        atPath: tools + "/requirements.txt")
    private static let isBrowserInstalled =
        (try? ChildProcess.run("chromium", ["--version", "--no-sandbox"]))?.status == .exited(0)

    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension SiteTests {
    /// Builds the pages of `repository` into a directory with that name, and returns what was said.
    private func build(
        _ repository: String = Repository.path, into name: String = "html",
        environment: [String: String] = [:]
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            repository + "/scripts/site.sh", [directory.path(of: name)], environment: environment,
            within: .seconds(600))
    }

    /// The paths of the files below a directory whose names have this ending.
    private static func files(below path: String, _ ending: String) -> [String] {
        (FileManager.default.subpaths(atPath: path) ?? []).filter { $0.hasSuffix(ending) }
    }

    @Test(
        "has every page of docs, takes nothing from outside, and is the same bytes each time",
        .enabled(if: isInstalled, "MkDocs Material is not installed: scripts/install.sh test"))
    func built() throws {
        let outcome = try build()
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        let site = directory.path(of: "html")
        let sources = Self.files(below: Repository.path(of: "docs"), ".md")
        #expect(sources.count > 90)
        for source in sources {
            let name = source.dropLast("README.md".count)
            let isOverview = source.hasSuffix("README.md")
            let page = isOverview ? "\(name)index.html" : "\(source.dropLast(3)).html"
            #expect(FileManager.default.fileExists(atPath: "\(site)/docs/\(page)"), "\(page)")
        }
        let pages = Self.files(below: site, ".html")
        #expect(pages.count > sources.count)
        for page in pages {
            let text = try String(contentsOfFile: "\(site)/\(page)", encoding: .utf8)
            for tag in ["<link ", "<script ", "<img ", "<source ", "<iframe "] {
                for rest in text.components(separatedBy: tag).dropFirst() {
                    let attributes = rest.prefix { $0 != ">" }
                    #expect(!attributes.contains("//"), "\(page): \(tag)\(attributes)")
                }
            }
        }
        for script in Self.files(below: site + "/assets", ".js") {
            let text = try String(contentsOfFile: "\(site)/assets/\(script)", encoding: .utf8)
            #expect(!text.contains("https://unpkg.com"), "\(script)")
        }
        let elsewhere = ["TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1000000000", "LC_ALL": "C"]
        let again = try build(into: "again", environment: elsewhere)
        try #require(again.status == .exited(0), "\(again.standardError)")
        let difference = try ChildProcess.run("diff", ["-r", site, directory.path(of: "again")])
        #expect(difference.status == .exited(0), "\(difference.standardOutput.prefix(1_000))")
    }

    @Test(
        "is not built of pages that lead nowhere, have no place in it or load from elsewhere",
        .enabled(if: isInstalled, "MkDocs Material is not installed: scripts/install.sh test"))
    func broken() throws {
        let copy = directory.path(of: "copy")
        let script = """
            mkdir -p "$2/.build/site"
            ln -s "$1/.build/site/python" "$2/.build/site/python"
            tar -C "$1" --exclude=.build --exclude=__pycache__ -cf - README.md CHANGELOG.md \
                SECURITY.md LICENSE Benchmarks clients conf deploy docs scripts Tests/ClientTests \
                Sources/AndroidAttestation/Documentation.docc \
                Sources/AppAttest/Documentation.docc | tar -C "$2" -xf -
            """
        let copied = try ChildProcess.run(
            "bash", ["-euo", "pipefail", "-c", script, "bash", Repository.path, copy])
        try #require(copied.status == .exited(0), "\(copied.standardError)")
        let whole = try build(copy)
        try #require(whole.status == .exited(0), "\(whole.standardError)")
        let faults = [
            ("[a](absent.md)", "contains a link 'absent.md'"),
            ("[b](headers.md#absent)", "contains a link 'headers.md#absent'"),
            ("[c](#absent)", "contains a link '#absent'"),
            ("[d](../conf/absent.yaml)", "contains a link '../conf/absent.yaml'"),
            ("[e](/etc/hosts)", "contains an absolute link '/etc/hosts'"),
            ("<a href=\"absent.html\">f</a>", "leads to absent.html, which is not there"),
            ("<a href=\"headers.html#g\">g</a>", "headers.html#g, which has no such anchor"),
            ("![h](https://example.com/h.png)", "takes https://example.com/h.png from outside"),
        ]
        let page = try String(contentsOfFile: copy + "/docs/glossary.md", encoding: .utf8)
        try directory.write(
            page + "\n" + faults.map(\.0).joined(separator: "\n") + "\n",
            to: "copy/docs/glossary.md")
        try directory.write("# A page without a place\n", to: "copy/docs/stray.md")
        let outcome = try build(copy)
        #expect(outcome.status == .exited(1))
        for complaint in faults.map(\.1) + [
            "are not included in the \"nav\" configuration:\n  - docs/stray.md",
            "nothing leads from the first page to docs/stray.html",
        ] { #expect(outcome.standardError.contains(complaint), "\(complaint)") }
    }

    @Test(
        "reads lists and tables as GitHub does",
        .enabled(if: isInstalled, "MkDocs Material is not installed: scripts/install.sh test"))
    func lists() throws {
        let outcome = try ChildProcess.run(
            Self.tools + "/bin/python",
            ["-B", "-m", "doctest", Repository.path(of: "scripts/site/pages.py")])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(
        "is searched without a server",
        .enabled(
            if: isInstalled && isBrowserInstalled,
            "MkDocs Material or chromium is not installed: scripts/install.sh test"))
    func search() throws {
        let built = try build()
        try #require(built.status == .exited(0), "\(built.standardError)")
        let address = "file://" + directory.path(of: "html/docs/glossary.html?q=keys_per_user")
        let outcome = try ChildProcess.run(
            "chromium",
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000",
                "--user-data-dir=" + directory.path(of: "browser"), "--dump-dom", address,
            ], within: .seconds(300))
        #expect(outcome.standardOutput.contains("<mark>keys_per_user"), "\(outcome.status)")
        #expect(outcome.standardOutput.contains("<h1>Settings"))
    }

    @Test("lies where the status page and the pages say")
    func place() throws {
        for path in [
            "Sources/Gateway/Admin/StatusPage.swift", "Sources/Gateway/Admin/Page/status.js",
            "docs/operations/install.md", "docs/operations/status.md", "scripts/package-test.sh",
        ] {
            let text = try Repository.text(of: path)
            #expect(text.contains("/usr/share/doc/sallyport/html"), "\(path)")
        }
    }
}
