import Foundation
import Testing

/// What shows early that one type becomes the place of everything.
@Suite("Shapes")
struct ShapeTests {
    private static let typeLineCountMax = 800
    private static let storedPropertyCountMax = 30

    /// Types that may have more lines, and why; to be taken out once they do not.
    private static let longTypes = [
        "Exchange": "it carries out every stage, a file each; Judgement decides without it"
    ]

    /// Folders of `Gateway` that point to each other. None may come; each that goes is taken out.
    private static let mutualFolders: Set<[String]> = [
        // An exchange calls its upstream, which answers it.
        ["Exchange", "Upstream"],
        // A worker owns exchanges and pools, which use its loop and stores.
        ["Exchange", "Worker"],
        ["Upstream", "Worker"],
    ]

    private static let files = SourceTree.swiftFiles.filter { $0.path.hasPrefix("Sources/") }
    private static let shapes = TypeShapes(files)

    @Test("no type has more than 800 lines over all its files, or stores more than 30 properties")
    func types() {
        var findings: [Finding] = []
        for type in Self.shapes.types {
            if type.lineCount > Self.typeLineCountMax, Self.longTypes[type.name] == nil {
                findings.append(
                    type.finding("has \(type.lineCount) lines, at most \(Self.typeLineCountMax)"))
            }
            if type.storedPropertyCount > Self.storedPropertyCountMax {
                findings.append(
                    type.finding(
                        "stores \(type.storedPropertyCount) properties, at most "
                            + "\(Self.storedPropertyCountMax)"))
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
        for name in Self.longTypes.keys {
            let isLong = Self.shapes.types.contains {
                $0.name == name && $0.lineCount > Self.typeLineCountMax
            }
            #expect(isLong, "\(name) is no exception any more: take it out of the list")
        }
    }

    @Test("no two folders of Gateway point to each other, but those that are named")
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
        let mutual = Set(
            uses.keys.filter { uses[[$0[1], $0[0]]] != nil }.map { $0.sorted() })
        for pair in mutual.subtracting(Self.mutualFolders) {
            let both = (uses[pair] ?? "") + (uses[pair.reversed()] ?? "")
            Issue.record("\(pair[0]) and \(pair[1]) point to each other:\(both)")
        }
        for pair in Self.mutualFolders.subtracting(mutual) {
            Issue.record("\(pair[0]) and \(pair[1]) do not: take them out of the list")
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
            let file = SourceTree.read("\(path)\(name).swift")
            let isThere = file?.code.lines.contains { $0.hasPrefix("    func \(phase)(") } ?? false
            #expect(isThere, "\(path)\(name).swift has no `func \(phase)(`")
        }
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
