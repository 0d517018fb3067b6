/// The words after a command's name: options with a value, flags, and operands.
struct Arguments {
    private(set) var options: [String: [String]] = [:]
    private(set) var flags: Set<String> = []
    private(set) var operands: [String] = []

    /// Ends the process with the usage code if a word is not one of these.
    init(_ words: [String], options known: [String], flags knownFlags: [String], usage: String) {
        var rest = words[...]
        var onlyOperands = false
        while let word = rest.popFirst() {
            guard !onlyOperands, word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            if word == "--" {
                onlyOperands = true
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if knownFlags.contains(name), parts.count == 1 {
                flags.insert(name)
            } else if known.contains(name) {
                let inline = parts.count == 2 ? String(parts[1]) : nil
                guard let value = inline ?? rest.popFirst() else {
                    Exit.usage("\(name) needs a value\n\n\(usage)")
                }
                options[name, default: []].append(value)
            } else if ["--help", "-h"].contains(name) {
                Console.print(usage)
                Exit.with(.ok)
            } else {
                Exit.usage("unknown option \(name)\n\n\(usage)")
            }
        }
    }

    /// Ends the process if there is an operand. Operators mostly mean the configuration by it.
    func refuseOperands(usage: String) {
        guard let first = operands.first else { return }
        Exit.usage("unexpected \(first); if it is the configuration: -c \(first)\n\n\(usage)")
    }

    /// The last value given for `name`.
    func value(_ name: String) -> String? { options[name]?.last }

    /// The value of an option that the command needs.
    func required(_ name: String, usage: String) -> String {
        guard let value = value(name) else { Exit.usage("\(name) is missing\n\n\(usage)") }
        return value
    }
}
