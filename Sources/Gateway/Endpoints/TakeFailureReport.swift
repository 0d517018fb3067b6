import Bytes
import HTTP
import JSON
import Judgement
import Telemetry

/// `POST /attest/failure`: what failed in an app, for apps that send no other request.
extension EndpointDesk {
    func takeFailureReport() throws(Refusal) -> Step {
        let sent = try sentReport()
        switch sent {
        case .success(let report): try limiter.count(report)
        case .failure: try limiter.count(.unreadable)
        }
        do throws(FailureReport.Fault) {
            if let fault = try sent.get().fault { throw fault }
        } catch {
            throw Refusal(.badRequest, .failureReport, explanation: error.explanation)
        }
        var response = LocalResponse(status: 204)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return exchange.answer(response)
    }

    private typealias Sent = Result<FailureReport, FailureReport.Fault>

    /// The report in the body, or in the header if there is no body.
    private func sentReport() throws(Refusal) -> Sent {
        guard intake.state.body.byteCount > 0 else {
            return Sent { () throws(FailureReport.Fault) in
                guard let header = head.failureReport else {
                    throw FailureReport.Fault("Neither the body nor the header has a report.")
                }
                return try FailureReport(header: headBytes.span.extracting(header))
            }
        }
        return intake.state.body.withMemory { json in
            Sent { () throws(FailureReport.Fault) in try Self.report(in: json) }
        }
    }

    private static func report(
        in json: Span<UInt8>
    ) throws(FailureReport.Fault) -> FailureReport {
        let reader = try object(in: json)
        return try FailureReport { name in
            if let text = reader.string(named: name) { return text }
            // `try` is a number; any other type counts as absent.
            guard reader.has(named: name) else { return nil }
            return name == "try" ? reader.integer("try").map { Array("\($0)".utf8) } ?? [] : []
        }
    }

    private static func object(
        in json: Span<UInt8>
    ) throws(FailureReport.Fault) -> JSONObjectReader {
        do throws(JSONError) {
            return try JSONObjectReader(parsing: json, byteCountMax: FailureReport.byteCountMax)
        } catch .duplicateMember {
            throw FailureReport.Fault("A member of the body comes more than once.")
        } catch {
            throw FailureReport.Fault("The body is not one JSON object.")
        }
    }
}
