import Bytes

/// The file of `secrets.challenge_key_file`: keys that seal and open challenges.
///
/// Each line holds 32 bytes in base64; empty lines and lines that begin with `#` are skipped. The
/// first key seals, and all of them open. To rotate, put a new line on top, and remove the old one
/// after the longest lifetime of a challenge.
public enum ChallengeKeys {
    public static let keyByteCount = 32
    /// A rotation needs two. The bound is low, because a forged challenge is tried with every key.
    public static let keyCountMax = 16

    /// The keys, at least one; throws with every wrong line.
    public static func parse(
        _ text: [UInt8], fileName: String
    ) -> Result<[[UInt8]], ConfigurationProblems> {
        var keys: [[UInt8]] = []
        var problems: [ConfigurationProblem] = []
        func report(_ line: Int, _ message: String) {
            problems.append(
                ConfigurationProblem(
                    file: fileName, line: line, column: line == 0 ? 0 : 1, message: message))
        }
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = trimmed(line)
            if line.isEmpty || line.first == 0x23 { continue }
            // The line itself is a secret: it is not shown.
            guard let key = Base64.decode(line.span) else {
                report(index + 1, "not base64")
                continue
            }
            guard key.count == keyByteCount else {
                report(index + 1, "a key of \(key.count) bytes: \(keyByteCount) are needed")
                continue
            }
            if keys.contains(key) { report(index + 1, "the same key again") }
            keys.append(key)
        }
        if keys.isEmpty, problems.isEmpty {
            report(0, "holds no key: write base64 of \(keyByteCount) random bytes on a line")
        }
        if keys.count > keyCountMax { report(0, "holds more than \(keyCountMax) keys") }
        return problems.isEmpty ? .success(keys) : .failure(ConfigurationProblems(problems))
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var line = line.drop(while: isSpace)
        while let last = line.last, isSpace(last) { line = line.dropLast() }
        return line
    }
}
