import Telemetry

extension FuzzTarget {
    /// A report that can be read has words and short numbers only, and reads the same when it is
    /// written anew, in another order, with white space and with an unknown part.
    static let failureReport = FuzzTarget(
        "failure-report", byteCountMax: FailureReport.byteCountMax + 1
    ) { bytes in
        guard let report = try? FailureReport(header: bytes.span) else { return }
        var parts = [("code", report.code.rawValue), ("phase", report.phase.rawValue)]
        switch report.system {
        case .value(let system): parts.append(("os", system.description))
        case .malformed: parts.append(("os", "x"))
        case .missing: break
        }
        switch report.attempt {
        case .value(let attempt):
            try FuzzFinding.require((1...99).contains(attempt), "an attempt beyond its bounds")
            parts.append(("try", "\(attempt)"))
        case .malformed: parts.append(("try", "x"))
        case .missing: break
        }
        for (name, part) in [("app", report.app), ("version", report.version)] {
            switch part {
            case .value(let text): parts.append((name, text))
            case .malformed: throw FuzzFinding("a word that is none")
            case .missing: break
            }
        }
        let text = parts.reversed().map { "\($0)=\($1)" }.joined(separator: " ;\t") + ";new=1"
        // The separators and the new part may make it too long.
        guard text.utf8.count <= FailureReport.byteCountMax else { return }
        try FuzzFinding.requireEqual(
            try? FailureReport(header: Array(text.utf8).span), report,
            "written anew it reads otherwise")
        try FuzzFinding.require(
            (try? FailureReport(header: Array((text + ";phase=key").utf8).span)) == nil,
            "a part that comes twice is read")
    }
}
