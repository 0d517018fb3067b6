/// The reason why a `${…}` cannot be replaced.
struct SubstitutionFault: Error, Equatable {
    let message: String
}

/// Replaces `${VAR}`, `${VAR:-x}` and `${file:PATH}` inside a value.
///
/// `${VAR:-x}` is `x` if the variable is unset or empty. A final line feed in a file's text is
/// dropped. `$${` stands for `${`. Replacements are not searched for further references.
struct Substitution {
    /// The longest value after replacement. Certificates and keys are named by path, so they do not
    /// count.
    static let byteCountMax = 64 * 1024

    let environment: (String) -> String?
    let readFile: SettingsLoader.FileReader
    var places = FilePlaces(of: "", workingDirectory: "")

    struct Outcome: Equatable {
        var text: String
        /// Files hold secrets: such a text is not quoted in a message.
        var usesFile: Bool
        /// The paths of the files whose texts were used.
        var files: [String] = []
    }

    /// `take` makes the part of a value from the text of a file. Its fault follows the reference in
    /// the message, and must not show the text.
    func expand(
        _ text: String, take: (String) throws(Fault) -> String = { text throws(Fault) in text }
    ) throws(SubstitutionFault) -> Outcome {
        var outcome = Outcome(text: "", usesFile: false)
        var rest = Substring(text)
        while let dollar = rest.firstIndex(of: "$") {
            outcome.text += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                outcome.text += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let end = rest.firstIndex(of: "}") else {
                    throw SubstitutionFault(message: "${ without its }; write $${ for a literal ${")
                }
                let reference = rest[..<end].dropFirst(2)
                if reference.hasPrefix("file:") {
                    let path = String(reference.dropFirst(5))
                    outcome.text += try contents(path, take)
                    outcome.usesFile = true
                    outcome.files.append(places.path(of: path))
                } else {
                    outcome.text += try value(of: reference)
                }
                rest = rest[end...].dropFirst()
            } else {
                outcome.text += "$"
                rest = rest.dropFirst()
            }
            try bound(outcome.text)
        }
        outcome.text += rest
        try bound(outcome.text)
        return outcome
    }

    private func bound(_ text: String) throws(SubstitutionFault) {
        guard text.utf8.count <= Self.byteCountMax else {
            throw SubstitutionFault(message: "more than \(Self.byteCountMax) bytes after ${…}")
        }
    }

    private func value(of reference: Substring) throws(SubstitutionFault) -> String {
        var name = reference
        var fallback: Substring?
        if let colon = reference.firstIndex(of: ":") {
            name = reference[..<colon]
            let operation = reference[colon...]
            guard operation.hasPrefix(":-") else {
                throw SubstitutionFault(
                    message: "\(quoted(reference)) is not a form of ${…}: \(Self.forms)")
            }
            fallback = operation.dropFirst(2)
        }
        guard isName(name) else {
            throw SubstitutionFault(
                message: "\(quoted(reference)) is not a form of ${…}: \(Self.forms)")
        }
        // A nested reference would end at the first `}`, and half of it would stay as text.
        if let fallback, fallback.contains("${") {
            throw SubstitutionFault(message: "\(quoted(reference))…: ${…} cannot be nested")
        }
        let value = environment(String(name))
        if let fallback { return value.flatMap { $0.isEmpty ? nil : $0 } ?? String(fallback) }
        guard let value else {
            throw SubstitutionFault(
                message: "environment variable \(name) is not set, and \(quoted(reference)) has no "
                    + "default: write ${\(name):-value} for one")
        }
        return value
    }

    private static let forms = "write ${VAR}, ${VAR:-default} or ${file:/path}"

    private func contents(
        _ path: String, _ take: (String) throws(Fault) -> String
    ) throws(SubstitutionFault) -> String {
        let text = try contents(path)
        do throws(Fault) {
            return try take(text)
        } catch {
            throw SubstitutionFault(message: "${file:\(path)} \(error.message)")
        }
    }

    private func contents(_ path: String) throws(SubstitutionFault) -> String {
        guard !path.isEmpty else { throw SubstitutionFault(message: "${file:} names no file") }
        let bytes: [UInt8]
        switch readFile(places.path(of: path)) {
        case .success(let found): bytes = found
        case .failure(let failure):
            throw SubstitutionFault(message: "${file:\(path)} cannot be read: \(failure)")
        }
        guard bytes.count <= Self.byteCountMax else {
            throw SubstitutionFault(
                message: "${file:\(path)} holds more than \(Self.byteCountMax) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw SubstitutionFault(message: "${file:\(path)} is not UTF-8 text")
        }
        // Bytes are compared, because CR LF is one character in Swift.
        guard bytes.last == 0x0A else { return text }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    private func isName(_ name: Substring) -> Bool {
        name.utf8.first?.isDigit == false
            && name.utf8.allSatisfy { $0.isLetterOrDigit || $0.isOne(of: "_") }
    }

    private func quoted(_ reference: Substring) -> String { "${\(reference)}" }
}
