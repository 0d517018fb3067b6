import Foundation
import Testing

/// What shows early that one type becomes the place of everything.
@Suite("Shapes")
struct ShapeTests {}

extension ShapeTests {
    private static let typeLineCountMax = 800
    private static let storedPropertyCountMax = 30

    /// The conductor of an exchange only hands on: what it knows and does is in its parts.
    private static let conductor = (name: "Exchange", lineCountMax: 600)

    private static let files = SourceTree.swiftFiles.filter { $0.path.hasPrefix("Sources/") }
    private static let shapes = TypeShapes(files)

    @Test("no type has more than 800 lines over all its files, or stores more than 30 properties")
    func types() {
        var findings: [Finding] = []
        for type in Self.shapes.types {
            let isConductor = type.name == Self.conductor.name
            let lineCountMax =
                isConductor ? Self.conductor.lineCountMax : Self.typeLineCountMax
            if type.lineCount > lineCountMax {
                findings.append(
                    type.finding("has \(type.lineCount) lines, at most \(lineCountMax)"))
            }
            if type.storedPropertyCount > Self.storedPropertyCountMax {
                findings.append(
                    type.finding(
                        "stores \(type.storedPropertyCount) properties, at most "
                            + "\(Self.storedPropertyCountMax)"))
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no two folders of Gateway point to each other")
    func folders() {
        let files = Self.files.filter { $0.target == "Gateway" }
        let folders = Dictionary(
            files.flatMap { file in
                TypeShapes.namesDeclared(file).map { ($0, Self.folder(of: file)) }
            }, uniquingKeysWith: { first, _ in first })
        var uses: [[String]: String] = [:]
        for file in files {
            let folder = Self.folder(of: file)
            for line in file.code.lines {
                for word in line.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
                    guard let other = folders[String(word)], other != folder else { continue }
                    uses[[folder, other], default: ""] += " \(file.path) uses \(word);"
                }
            }
        }
        #expect(uses.count > 40)
        for (pair, words) in uses where pair[0] < pair[1] {
            guard let others = uses[pair.reversed()] else { continue }
            Issue.record("\(pair[0]) and \(pair[1]) point to each other:\(words)\(others)")
        }
    }

    private static func folder(of file: SourceFile) -> String {
        String(file.path.split(separator: "/")[2])
    }

    @Test("the function of each stage is in the file of its name")
    func stages() throws {
        let path = "Sources/Gateway/Exchange/"
        let phases = try #require(SourceTree.read(path + "Phase.swift")).code.lines.compactMap {
            $0.firstMatch(of: /^    case (\w+)$/).map { String($0.output.1) }
        }
        #expect(phases.count > 9)
        for phase in phases {
            let name = phase.prefix(1).uppercased() + phase.dropFirst()
            let files = Self.files.filter {
                $0.path.hasPrefix(path) && $0.path.hasSuffix("/\(name).swift")
            }
            let isThere = files.contains { file in
                file.code.lines.contains { $0.hasPrefix("    func \(phase)(") }
            }
            #expect(isThere, "no \(name).swift below \(path) has `func \(phase)(`")
        }
    }

    @Test("a suite's tests are in an extension: the compiler reads the suite's type three times")
    func suites() {
        let findings = SourceTree.swiftFiles.filter(\.isTest).flatMap(Self.testsInSuiteTypes)
        #expect(findings.isEmpty, "\(report(findings))")
        let file = SourceFile(
            path: "Tests/T/A.swift",
            text: """
                @Suite("A") struct A {
                    @Test func a() {}
                }
                @Suite("B", .serialized)
                struct B {
                    let c: Int
                }

                extension B {
                    @Test func b() {}
                }
                @Suite("D") struct D {}
                struct E {
                    @Test func e() {}
                }

                """)
        #expect(Self.testsInSuiteTypes(file).map(\.lineNumber) == [2])
    }

    /// The macro `@Suite` parses all of the type that it stands at, once for each of its roles.
    private static func testsInSuiteTypes(_ file: SourceFile) -> [Finding] {
        var findings: [Finding] = []
        var isInSuite = false
        for (offset, line) in file.code.lines.enumerated() {
            if line.hasPrefix("@Suite") { isInSuite = true }
            if line.hasPrefix("}") || !line.hasPrefix(" ") && line.hasSuffix("{}") {
                isInSuite = false
            }
            if isInSuite, line.hasPrefix("    @Test") {
                findings.append(file.finding(line: offset + 1, "put the test into an extension"))
            }
        }
        return findings
    }

    @Test("a part of an exchange changes its own state alone")
    func ownState() throws {
        let path = "Sources/Gateway/Exchange/ExchangePart.swift"
        let listed = try #require(SourceTree.read(path)).code.lines.compactMap {
            $0.firstMatch(of: /var (\w+): (\w+) \{ \w+\(exchange: self\) \}$/)
                .map { (String($0.output.1), String($0.output.2)) }
        }
        let parts = Dictionary(uniqueKeysWithValues: listed)
        #expect(parts.count > 9)
        let findings = Self.files.filter { $0.target == "Gateway" }.flatMap { file in
            let own = Set(
                file.code.lines.compactMap {
                    $0.firstMatch(of: /^(?:extension|struct) (\w+)/).map { String($0.output.1) }
                })
            return file.code.lines.enumerated().filter { _, line in
                Self.changedNames(line).contains { name in
                    parts[name].map { !own.contains($0) } ?? false
                }
            }.map { file.finding(line: $0.offset + 1, "this is another part's to change") }
        }
        #expect(findings.isEmpty, "\(report(findings))")
        #expect(Self.changedNames("exchange.judge.verdict = nil") == ["judge"])
        #expect(Self.changedNames("f(&intake.head.fields)") == ["intake"])
        #expect(Self.changedNames("let x = intake.head == y").isEmpty)
    }

    /// The names before the dot of what a line assigns to, or lends to be changed.
    private static func changedNames(_ line: some StringProtocol) -> [String] {
        guard line.utf8.contains(where: { $0 == 0x3D || $0 == 0x26 }) else { return [] }
        let line = String(line)
        let assignment = /(?:^|[\s{(])(?:exchange\??\.)?(\w+)(?:\.\w+)+ [-+]?=(?:\s|$)/
        let loan = /&(?:exchange\.)?(\w+)\.\w+/
        return line.matches(of: assignment).map { String($0.output.1) }
            + line.matches(of: loan).map { String($0.output.1) }
    }

    @Test("measure what a type stores and how long it is with its extensions")
    func measuring() throws {
        let declaration = SourceFile(
            path: "Sources/T/A.swift",
            text: """
                struct A {
                    static let one = 1
                    let a: Int, b = f { $0 }
                    private(set) var c = 2
                    weak var d: B?
                    var e: Int { 3 }
                    func f() {
                        let g = 4
                    }
                    enum B { case c }
                }

                """)
        let other = SourceFile(
            path: "Sources/T/B.swift", text: "extension A {\n    var h: Int { 5 }\n}\n")
        let shapes = TypeShapes([declaration, other]).types
        let type = try #require(shapes.first)
        #expect(shapes.map(\.name) == ["A", "B"])
        #expect(type.lineCount == 14 && type.storedPropertyCount == 3)
    }
}

extension TypeShape {
    fileprivate func finding(_ text: String) -> Finding {
        Finding(path: path, lineNumber: lineNumber, message: "\(target).\(name) \(text)")
    }
}
