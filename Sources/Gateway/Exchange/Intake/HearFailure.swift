import Bytes
import HTTP
import Judgement
import Telemetry

extension RequestIntake {
    /// Counts the failure that the app reports in a header. The request itself goes on as without
    /// it.
    func hear(_ report: Range32) {
        guard !adminDesk.isAsked else { return }
        let read = try? FailureReport(header: headBytes.span.extracting(report))
        // A request goes on even if its address has sent too many reports.
        try? limiter.count(read ?? .unreadable)
    }
}
