import Foundation

/// Something the style rules refuse, where it is, and what to do instead.
struct Finding: CustomStringConvertible {
    let path: String
    let lineNumber: Int
    let message: String

    var description: String { "\(path):\(lineNumber): \(message)" }
}

/// A committed text file, by its path from the package's root.
struct SourceFile: Sendable {
    let path: String
    let text: String
    let lines: [Substring]
    /// Of a Swift file; empty for others.
    let code: SwiftCode

    init(path: String, text: String) {
        self.path = path
        self.text = text
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // The end of the last line begins no further one.
        if lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
        code = SwiftCode(path.hasSuffix(".swift") ? text : "")
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
    var isTest: Bool { path.hasPrefix("Tests/") }
    /// The folder below `Sources`, which is the target's name.
    var target: Substring? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? parts[1] : nil
    }

    /// True if one of these words is somewhere in the file. Far faster than a pattern on each line.
    func mentions(_ words: [String]) -> Bool {
        text.withCString { bytes in words.contains { strstr(bytes, $0) != nil } }
    }

    func finding(line lineNumber: Int, _ message: String) -> Finding {
        Finding(path: path, lineNumber: lineNumber, message: message)
    }
}

/// The files of this package as they lie there, without what was built.
enum SourceTree {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static let files: [SourceFile] = files(below: "").sorted { $0.path < $1.path }

    /// Looks into no folder of a build. Where files come and go, Foundation's enumerator leaves out
    /// folders beside them.
    private static func files(below folder: String) -> [SourceFile] {
        let absolute = root.appendingPathComponent(folder).path
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: absolute) else {
            return [read(folder)].compactMap(\.self)
        }
        return names.filter { !isBuilt($0) }.flatMap { name in
            files(below: folder.isEmpty ? name : "\(folder)/\(name)")
        }
    }

    private static func isBuilt(_ name: String) -> Bool {
        name.hasPrefix(".build") || [".git", ".swiftpm", "demo-run", "dist"].contains(name)
    }

    static let swiftFiles: [SourceFile] = files.filter(\.isSwift)

    /// What stands between two quotation marks in a line of a test file: the tests' names among it.
    static let textsInTests: Set<Substring> = {
        var texts: Set<Substring> = []
        for line in swiftFiles.filter(\.isTest).flatMap(\.lines) where line.utf8.contains(0x22) {
            texts.formUnion(line.split(separator: "\"" as Character))
        }
        return texts
    }()

    /// Nil for a folder, an absent file, or bytes that are not UTF-8.
    static func read(_ path: String) -> SourceFile? {
        var isFolder: ObjCBool = false
        let absolute = root.appendingPathComponent(path).path
        guard FileManager.default.fileExists(atPath: absolute, isDirectory: &isFolder),
            !isFolder.boolValue, let text = try? String(contentsOfFile: absolute, encoding: .utf8)
        else { return nil }
        return SourceFile(path: path, text: text)
    }
}

/// One finding a line, as a compiler prints them.
func report(_ findings: [Finding]) -> String {
    "\n" + findings.map(\.description).joined(separator: "\n")
}
