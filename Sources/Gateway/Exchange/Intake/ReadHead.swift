import Bytes
import HTTP
import Judgement
import Settings

extension RequestIntake {
    /// The head is complete and well-formed: the connection's codec saw to that. What is left is
    /// what concerns the exchange: the id by which a proxy before this one knows it.
    func readHead() throws(Refusal) -> Step {
        let dialect = client.listener.settings.check?.dialect
        if dialect == .json, try !checkCall.readWrittenQuestion() { return .wait }
        if client.isPeerTrusted { exchange.arrival.trustedRequestID = usableRequestID() }
        if let tracing = site.tracing { recorder.beginTrace(tracing) }
        try limiter.limitListenerRate()
        try refuseOverdue()
        try refuseLoop()
        if let dialect { try checkCall.readQuestion(dialect) }
        return .next
    }

    /// Refuses what is no head, or not one of a request. It counts as any other: who sends nothing
    /// else is limited too.
    func refuseHead(_ refusal: Refusal) {
        do throws(Refusal) {
            try limiter.limitListenerRate()
            exchange.refuse(refusal)
        } catch {
            exchange.refuse(error)
        }
    }

    /// The one `X-Request-Id` of a trusted peer, where logs, headers and JSON can hold it as it is.
    func usableRequestID() -> Range32? {
        var found: Range32?
        for field in head.fields where field.known == .xRequestID {
            guard found == nil else { return nil }
            found = field.value
        }
        guard let found, !found.isEmpty, found.count <= Self.requestIDByteCountMax else {
            return nil
        }
        let bytes = headBytes.span
        let text = bytes.extracting(found)
        for index in text.indices {
            let byte = text[index]
            guard byte > 0x20, byte < 0x7F, byte != 0x22, byte != 0x5C else { return nil }
        }
        return found
    }

    /// UUIDs have 36, trace ids of the known systems at most 100.
    private static let requestIDByteCountMax = 128
}
