import Bytes
import HTTP
import Judgement
import Telemetry

extension RequestIntake {
    /// Counts what the request says of a failure in its app. The request itself goes on as if it
    /// had said nothing.
    func hear(_ report: Range32) {
        guard !adminDesk.isAsked else { return }
        let read = try? FailureReport(header: headBytes.span.extracting(report))
        // Whoever reports too often has other business here as well.
        try? limiter.count(read ?? .unreadable)
    }
}
