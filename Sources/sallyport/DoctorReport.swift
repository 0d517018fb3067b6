import RedisKeyStore

/// Prints the report of `doctor`, a line for each check as it ends.
final class DoctorReport {
    private(set) var hasFailures = false

    func check(_ name: String, _ body: () throws -> String) {
        do {
            tell(.ok, name, try body())
        } catch {
            tell(.failure, name, "\(error)")
        }
    }

    func tell(_ verdict: RedisCheckupStep.Verdict, _ name: String, _ text: String) {
        let word =
            switch verdict {
            case .ok: "ok   "
            case .warning: "warn "
            case .failure: "FAIL "
            }
        if verdict == .failure { hasFailures = true }
        Console.print("\(word) \(name): \(text)")
    }
}
