import EventLoop

/// The progress of a long command on standard error, if that is a terminal. Otherwise nothing is
/// written.
final class ProgressBar {
    private let isOn: Bool
    private let action: String
    private let unit: String
    private let startedAt = MonotonicInstant.now()
    private var drawnAt: MonotonicInstant?
    private var isDrawn = false

    /// True if the bar is visible. Work that only the bar needs is left out otherwise.
    var isShown: Bool { isOn }

    /// `action` and `unit` are words, such as importing and keys.
    init(_ action: String, _ unit: String, isQuiet: Bool) {
        self.action = action
        self.unit = unit
        isOn = !isQuiet && !TerminalText.isDumb && Terminal.isTerminal(Self.descriptor)
    }

    deinit { clear() }

    /// Draws the bar, at most ten times a second and at the end. `share`: the part that is done,
    /// from 0 to 1; nil if it is not known.
    func show(_ count: Int, share: Double?) {
        guard isOn else { return }
        let now = MonotonicInstant.now()
        let isEnd = share.map { $0 >= 1 } ?? false
        if let drawnAt, !isEnd, now.nanoseconds(since: drawnAt) < Self.restNanoseconds { return }
        drawnAt = now
        let seconds = Double(now.nanoseconds(since: startedAt)) / 1e9
        let columnCount = Terminal.columnCount(Self.descriptor) ?? 80
        let line = ProgressLine(
            action: action, unit: unit, count: count, share: share, seconds: seconds)
        write("\r" + line.text(columnCount: columnCount) + "\u{1B}[K")
        isDrawn = true
    }

    /// Removes the bar, for a line that is to stay or for the end.
    func clear() {
        guard isDrawn else { return }
        write("\r\u{1B}[K")
        isDrawn = false
        drawnAt = nil
    }

    /// A closed terminal does not end the command.
    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = File.append(Self.descriptor, bytes.span)
    }

    private static let descriptor: Int32 = 2
    private static let restNanoseconds: UInt64 = 100_000_000
}

/// The words of a progress bar.
struct ProgressLine {
    let action: String
    let unit: String
    let count: Int
    let share: Double?
    /// The seconds since the beginning.
    let seconds: Double

    /// The text, at most as wide as the terminal without its last column, in which some terminals
    /// wrap.
    func text(columnCount: Int) -> String {
        let rate = seconds > 0 ? Int(Double(count) / seconds) : 0
        let words = "\(Self.grouped(count)) \(unit), \(Self.grouped(rate))/s"
        guard let share = share.map({ min(1, max(0, $0)) }) else {
            return String("\(action) \(words)".prefix(max(0, columnCount - 1)))
        }
        let percent = Int(share * 100)
        let padding = String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0)
        let ending = "\(words)\(remaining(share))"
        let head = "\(action) \(padding)\(percent)%"
        let room = columnCount - 1 - head.count - ending.count - 4
        guard room >= Self.barWidthMin else {
            return String("\(head) \(ending)".prefix(max(0, columnCount - 1)))
        }
        let width = min(room, Self.barWidthMax)
        let filled = Int(share * Double(width))
        let bar =
            String(repeating: "#", count: filled)
            + String(repeating: "-", count: width - filled)
        return "\(head) [\(bar)] \(ending)"
    }

    /// The remaining time, once a little is done; before, it cannot be told.
    private func remaining(_ share: Double) -> String {
        guard share >= 0.01, share < 1, seconds >= 1 else { return "" }
        let rest = Int(seconds * (1 - share) / share)
        if rest < 60 { return ", \(rest)s left" }
        if rest < 3600 { return ", \(rest / 60)m\(rest % 60)s left" }
        return ", \(rest / 3600)h\(rest % 3600 / 60)m left"
    }

    private static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    private static let barWidthMin = 10
    private static let barWidthMax = 40
}
