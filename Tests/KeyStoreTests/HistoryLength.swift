import Foundation
import Testing

/// How long histories go on, and which ones: `HISTORY_SECONDS` and `HISTORY_SEED`.
enum HistoryLength {
    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    /// In place of a number of steps; the order of steps follows from the seed alone.
    static let seconds = number("HISTORY_SECONDS")

    /// The first `count` seeds, or the one that was asked for.
    static func seeds(_ count: Int) -> [UInt64] {
        number("HISTORY_SEED").map { [UInt64($0)] } ?? (0..<UInt64(count)).map { $0 }
    }

    /// Of a suite: several histories share the machine.
    static let limit = TimeLimitTrait.Duration.minutes(30 + (seconds ?? 0) / 6)
}
