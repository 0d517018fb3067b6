import Attestation
import Bytes
import HTTP
import JSON
import Judgement
import Policy
import Settings

extension Recorder {
    /// True if a refusal tells the client its cause, as `problem_detail` of the listener or route
    /// says.
    var tellsCause: Bool {
        client.listener.settings.tellsCause
            || match.routeIndex.map { site.settings.routes[$0].tellsCause } ?? false
    }

    /// True if a refusal explains itself in words. Operators' programs always get these.
    fileprivate var tellsMeaning: Bool {
        tellsCause || client.listener.audience == .administrators
    }
}

/// Refusals in the form that clients get: problem documents (RFC 9457).
enum Problem {
    private static let discoveryLink = Array(
        "<\(Settings.discoveryPath)>; rel=\"service-meta\"".utf8)

    /// Makes the problem document, and notes its action in the exchange for the record.
    static func response(to exchange: Exchange, _ refusal: Refusal) -> LocalResponse {
        let reason = refusal.reason
        let tellsCause = exchange.recorder.tellsCause
        let exactCode = tellsCause ? refusal.exactCode : nil
        let code = exactCode ?? reason.code
        var requestID = ByteBuffer(capacity: 64)
        exchange.rewriter.appendRequestID(to: &requestID)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", constant: "about:blank")
        writer.member("title", constant: StatusPhrase.text(for: reason.status))
        writer.member("status", int: Int64(reason.status))
        if let explanation = refusal.explanation {
            writer.member("detail", constant: explanation)
        } else if exchange.recorder.tellsMeaning {
            let explanation = CauseExplanation.of(reason, refusal.cause)
            writer.member("detail", string: explanation.meaning)
        }
        writer.member("code", constant: code)
        let action =
            exactCode == nil ? refusal.action ?? exchange.endpoints.action(for: reason) : .none
        writer.member("action", string: action.rawValue)
        exchange.progress.toldAction = action
        RetryAdvice(of: refusal, action, at: exchange.intake.match.endpoint)?.write(to: &writer)
        if tellsCause, let cause = refusal.cause {
            writer.member("cause", string: cause.textForClients)
        }
        if let outcome = exchange.assertions.assertionOutcome(after: refusal) {
            writer.member("assertion", string: outcome.rawValue)
        }
        writer.member("request_id", bytes: requestID.readable)
        writer.endObject()
        var response = LocalResponse(
            status: reason.status, contentType: "application/problem+json",
            body: writer.finish().readable.array)
        // nginx relays an answer's headers, but never its body.
        if exchange.checkCall.question != nil,
            exchange.client.listener.settings.check?.dialect == .nginx
        {
            response.fields.append(("X-App-Attest-Problem", response.body))
        }
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        if reason.status == 401 {
            let value = "AppAttest error=\"" + code.description + "\""
            response.fields.append(("WWW-Authenticate", Array(value.utf8)))
            // The page where a client learns how to prove itself (RFC 8631).
            response.fields.append(("Link", discoveryLink))
        }
        if RetryAdvice.hasHeader(reason) {
            let seconds = "\(RetryAdvice.seconds(of: refusal, action))"
            response.fields.append(("Retry-After", Array(seconds.utf8)))
        }
        if reason == .methodNotAllowed {
            response.fields.append(("Allow", Array(exchange.endpoints.allowedMethods.utf8)))
        }
        return response
    }
}
