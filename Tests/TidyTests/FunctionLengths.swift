/// A function with a body, measured from the line of its keyword to that of its closing brace.
struct MeasuredFunction {
    let name: String
    let lineNumber: Int
    let lineCount: Int
}

/// Finds the functions of blanked Swift code by its words and braces.
struct FunctionLengths {
    private struct Word {
        let text: String
        let lineNumber: Int
    }

    private let words: [Word]
    private(set) var functions: [MeasuredFunction] = []

    private static let starters: Set<String> = ["func", "init", "deinit", "subscript"]
    /// What follows a requirement of a protocol, which has no body.
    private static let followers: Set<String> = [
        "func", "init", "deinit", "subscript", "var", "let", "static", "mutating", "case", "struct",
        "enum", "final", "class", "associatedtype", "}",
    ]

    init(_ code: SwiftCode) {
        words = Self.words(of: code)
        for index in words.indices where Self.starters.contains(words[index].text) {
            // `.init(` and `self.init` are calls.
            guard index == 0 || words[index - 1].text != "." else { continue }
            guard let open = bodyStart(after: index), let close = bodyEnd(from: open) else {
                continue
            }
            let name = index + 1 < words.count ? words[index + 1].text : ""
            functions.append(
                MeasuredFunction(
                    name: words[index].text == "func" ? name : words[index].text,
                    lineNumber: words[index].lineNumber,
                    lineCount: words[close].lineNumber - words[index].lineNumber + 1))
        }
    }

    private static func words(of code: SwiftCode) -> [Word] {
        var words: [Word] = []
        for (offset, line) in code.lines.enumerated() {
            var name = ""
            for character in line {
                if character.isLetter || character.isNumber || character == "_" {
                    name.append(character)
                    continue
                }
                if !name.isEmpty { words.append(Word(text: name, lineNumber: offset + 1)) }
                name = ""
                if "(){}[].".contains(character) {
                    words.append(Word(text: String(character), lineNumber: offset + 1))
                }
            }
            if !name.isEmpty { words.append(Word(text: name, lineNumber: offset + 1)) }
        }
        return words
    }

    private func bodyStart(after start: Int) -> Int? {
        var depth = 0
        for index in (start + 1)..<words.count {
            switch words[index].text {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            case "{" where depth == 0: return index
            case let word where depth == 0 && index > start + 1 && Self.followers.contains(word):
                return nil
            default: break
            }
        }
        return nil
    }

    private func bodyEnd(from open: Int) -> Int? {
        var depth = 0
        for index in open..<words.count {
            if words[index].text == "{" { depth += 1 }
            if words[index].text == "}" { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }
}
