import Bytes
import EventLoop
import HTTP
import HTTP2
import Settings

/// Appends the fields of answers to the block that is submitted next.
extension HTTP2Stream {
    /// Appends the fields that the route sets and adds.
    func append(_ edits: FieldEdits?, _ exchange: Exchange) {
        guard let edits else { return }
        for line in edits.lines {
            session.fields.append(line.name.span) { exchange.rewriter.append(line.value, to: &$0) }
        }
    }

    func appendVia(_ version: StaticString) {
        session.fields.append("via") { value in
            value.append(version)
            value.append(" ")
            value.append(Via.clientsName)
        }
    }

    func appendRequestID(_ exchange: Exchange) {
        // Of no use to the answers that follow: their table keeps what they share.
        let name = Recorder.requestIDField
        session.fields.append(name.span, isIndexed: false) { value in
            exchange.rewriter.appendRequestID(to: &value)
        }
    }

    func appendDate() {
        session.fields.append("date") { worker.clock.appendHTTPDate(to: &$0) }
    }

    func appendAttestation(_ exchange: Exchange, _ fields: PersonalFields) {
        let part = PersonalPart(fields, of: exchange)
        if part.isPrivate { session.fields.append("cache-control", "private") }
        if part.isOutdated {
            let action = Array("update_app".utf8)
            session.fields.append("x-app-attest-action", action.span)
        }
        guard let challenge = part.challenge else { return }
        session.fields.append("x-app-attest-challenge", isIndexed: false) { value in
            services.seal(challenge, into: &value)
        }
    }

    /// Appends the end-to-end fields of an upstream's answer. True if one of them is `Date`.
    func appendFields(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool {
        exchange.recorder.forEachField(of: head, bytes, hasTrailers: true) { field, bytes in
            session.fields.append(bytes.extracting(field.name), bytes.extracting(field.value))
        }
    }
}
