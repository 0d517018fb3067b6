import Testing

@Suite("Sizes")
struct SizeTests {}

extension SizeTests {
    static let functionLineCountMax = 70
    static let fileLineCountMax = 400
    static let testFileLineCountMax = 600
    static let columnCountMax = 100

    @Test("no function has more than 70 lines")
    func functions() {
        let findings = SourceTree.swiftFiles.flatMap { file in
            FunctionLengths(file.code).functions
                .filter { $0.lineCount > Self.functionLineCountMax }
                .map {
                    file.finding(
                        line: $0.lineNumber,
                        "`\($0.name)` has \($0.lineCount) lines, at most "
                            + "\(Self.functionLineCountMax): name its parts and call them")
                }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no source file has more than 400 lines, no test file more than 600")
    func files() {
        let findings = SourceTree.swiftFiles.compactMap { file -> Finding? in
            let limit = file.isTest ? Self.testFileLineCountMax : Self.fileLineCountMax
            guard file.lines.count > limit else { return nil }
            return file.finding(
                line: limit + 1,
                "the file has \(file.lines.count) lines, at most \(limit): split it by idea"
            )
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no line of code or configuration has more than 100 columns")
    func lines() {
        let measured = SourceTree.files.filter { file in
            [".swift", ".sh", ".yaml", ".h", ".lua"].contains { file.path.hasSuffix($0) }
        }
        let findings = measured.flatMap { file in
            file.lines.enumerated().filter {
                // A type's name in a configuration of Envoy cannot be broken.
                $0.element.count > Self.columnCountMax
                    && !$0.element.contains("\"@type\": type.googleapis.com/")
            }.map {
                file.finding(
                    line: $0.offset + 1,
                    "\($0.element.count) columns, at most \(Self.columnCountMax)")
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("measure functions, not calls, requirements, comments or strings")
    func measuring() {
        let code = SwiftCode(
            #"""
            protocol P {
                func required(_ a: Int)
                var x: Int { get }
            }
            func short() { call("func no() { \(f("}")) {") }  // func comment() {
            func long(
                _ f: () -> Void = { }
            ) {
                let value = Value.init(1) { _ in }
                if true { return }
            }
            init() {
            }
            """#)
        let found = FunctionLengths(code).functions
        #expect(found.map(\.name) == ["short", "long", "init"])
        #expect(found.map(\.lineNumber) == [5, 6, 12])
        #expect(found.map(\.lineCount) == [1, 6, 2])
    }
}
