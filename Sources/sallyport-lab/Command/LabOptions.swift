/// The words after a command's name: `--name value`, `-n value`, `--flag`, and operands.
struct LabOptions {
    /// The values of each option, in the order of the words.
    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []
    private(set) var operands: [String] = []
    private let usage: String

    /// `names` take a value. Any other word that begins with `-`, a missing value, or a count of
    /// operands outside `operandCounts` ends the process with `usage`.
    init(
        _ words: [String], names: [String], flags flagNames: [String] = [],
        operandCounts: ClosedRange<Int> = 0...0, usage: String
    ) {
        self.usage = usage
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--help" || word == "-h" {
                print(usage)
                LabExit.ok()
            } else if flagNames.contains(word) {
                flags.insert(word)
            } else if names.contains(word) {
                guard let value = rest.popFirst() else {
                    LabExit.usage("\(word) needs a value\n\n\(usage)")
                }
                values[word, default: []].append(value)
            } else if word.hasPrefix("-") {
                LabExit.usage("unknown option \(word)\n\n\(usage)")
            } else {
                operands.append(word)
            }
        }
        guard operandCounts.contains(operands.count) else { LabExit.usage(usage) }
    }

    func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// The last value of an option; nil if it is not given.
    func value(_ name: String) -> String? { values[name]?.last }

    /// All values of an option that may be given several times.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    func required(_ name: String) -> String {
        guard let value = value(name) else { LabExit.usage("\(name) is missing\n\n\(usage)") }
        return value
    }

    /// The number given for `name`, or `fallback`.
    func count(_ name: String, or fallback: Int) -> Int {
        guard let text = value(name) else { return fallback }
        guard let number = Int(text), number >= 0 else {
            LabExit.usage("\(name): \(text) is not a number\n\n\(usage)")
        }
        return number
    }

    /// The parts of a value between commas; nil if the option is not given.
    func list(_ name: String) -> [String]? {
        value(name)?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// The value of an option with a closed set of names, or `fallback`.
    func choice<Choice>(
        _ name: String, or fallback: Choice
    ) -> Choice where Choice: CaseIterable & RawRepresentable, Choice.RawValue == String {
        optionalChoice(name) ?? fallback
    }

    func optionalChoice<Choice>(_ name: String) -> Choice?
    where Choice: CaseIterable & RawRepresentable, Choice.RawValue == String {
        value(name).map { one($0, of: Choice.allCases.map { ($0.rawValue, $0) }, name) }
    }

    /// The one of `choices` whose word is `text`, the value of `name`.
    func one<Choice>(
        _ text: String, of choices: [(word: String, choice: Choice)], _ name: String
    ) -> Choice {
        guard let found = choices.first(where: { $0.word == text }) else {
            let all = choices.map(\.word).joined(separator: " ")
            LabExit.usage("\(name): \(text) is none of: \(all)")
        }
        return found.choice
    }
}
