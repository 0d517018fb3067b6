import JSON
import RedisKeyStore

/// Prints the report of `doctor`, one line at the end of each check.
final class DoctorReport {
    private(set) var hasFailures = false
    let isJSON: Bool

    init(asJSON isJSON: Bool) { self.isJSON = isJSON }

    func check(_ name: String, _ body: () throws -> String) {
        do {
            tell(.ok, name, try body())
        } catch {
            tell(.failure, name, "\(error)")
        }
    }

    func tell(_ verdict: RedisCheckupStep.Verdict, _ name: String, _ text: String) {
        if verdict == .failure { hasFailures = true }
        guard !isJSON else {
            return MachineOutput.print { writer in
                writer.member("check", string: name)
                writer.member("verdict", string: verdict.machineWord)
                writer.member("text", string: text)
            }
        }
        let (word, colour): (String, TerminalText.Colour) =
            switch verdict {
            case .ok: ("ok   ", .green)
            case .warning: ("warn ", .yellow)
            case .failure: ("FAIL ", .red)
            }
        Console.print("\(TerminalText.coloured(word, colour, on: 1)) \(name): \(text)")
    }
}

extension RedisCheckupStep.Verdict {
    fileprivate var machineWord: String {
        switch self {
        case .ok: "ok"
        case .warning: "warning"
        case .failure: "failure"
        }
    }
}
