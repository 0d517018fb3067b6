import AppAttest
import Bytes
import HTTP
import JSON
import Judgement
import Policy

/// Refusals as clients see them: RFC 9457 problem documents.
enum Problem {
    static func response(to exchange: Exchange, _ refusal: Refusal) -> LocalResponse {
        let reason = refusal.reason
        var requestID = ByteBuffer(capacity: 64)
        exchange.appendRequestID(to: &requestID)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", constant: "about:blank")
        writer.member("title", constant: StatusPhrase.text(for: reason.status))
        writer.member("status", int: Int64(reason.status))
        if let explanation = refusal.explanation {
            writer.member("detail", constant: explanation)
        }
        writer.member("code", constant: reason.code)
        writer.member(
            "action", string: (refusal.action ?? exchange.action(for: reason)).rawValue)
        if let outcome = exchange.assertionOutcome(after: refusal) {
            writer.member("assertion", string: outcome.rawValue)
        }
        writer.member("request_id", bytes: requestID.readable)
        writer.endObject()
        var response = LocalResponse(
            status: reason.status, contentType: "application/problem+json",
            body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        if reason.status == 401 {
            let value = "AppAttest error=\"" + reason.code.description + "\""
            response.fields.append(("WWW-Authenticate", Array(value.utf8)))
        }
        if reason.status == 503 || reason.status == 429 {
            let seconds = "\(refusal.retryAfterSeconds ?? 1)"
            response.fields.append(("Retry-After", Array(seconds.utf8)))
        }
        if reason == .methodNotAllowed {
            response.fields.append(("Allow", Array(exchange.allowedMethods.utf8)))
        }
        return response
    }
}
