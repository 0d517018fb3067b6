import Bytes
import HTTP
import JSON
import Judgement
import Telemetry

/// `POST /attest/failure`: what failed in an app, for apps that send no other request.
extension Exchange {
    func takeFailureReport() throws(Refusal) -> Step {
        let report = try sentReport()
        try count(report ?? .unreadable)
        guard let report, report.isWellFormed else {
            throw Refusal(
                .badRequest, .failureReport,
                explanation: "phase and code are required; os is like 27.1, try is 1 to 99.")
        }
        var response = LocalResponse(status: 204)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return answer(response)
    }

    /// The report in the body, or in the header where there is no body.
    private func sentReport() throws(Refusal) -> FailureReport? {
        guard body.byteCount > 0 else {
            return head.failureReport.flatMap {
                FailureReport(header: headBytes.span.extracting($0))
            }
        }
        return try withWholeBody { Self.report(in: $0) }
    }

    private static func report(in json: Span<UInt8>) -> FailureReport? {
        do throws(JSONError) {
            let reader = try JSONObjectReader(
                parsing: json, byteCountMax: FailureReport.byteCountMax)
            return FailureReport { name in
                if let text = reader.string(named: name) { return text }
                // `try` is a number, and anything else is no word.
                guard reader.has(named: name) else { return nil }
                return name == "try" ? reader.integer("try").map { Array("\($0)".utf8) } ?? [] : []
            }
        } catch {
            return nil
        }
    }
}
