import Bytes
import HTTP
import Judgement
import Settings

extension RequestIntake {
    /// Prepares the exchange for its head, which the connection's codec found complete and
    /// well-formed. Reads a trusted peer's request id, and refuses what needs no more than the head
    /// to be refused.
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

    /// Refuses bytes that are not the head of a request. They count against the listener's rate
    /// limit as a request does, so that a client that sends nothing else is limited too.
    func refuseHead(_ refusal: Refusal) {
        do throws(Refusal) {
            try limiter.limitListenerRate()
            exchange.refuse(refusal)
        } catch {
            exchange.refuse(error)
        }
    }

    /// The `X-Request-Id` of a trusted peer; nil unless there is one, which logs, headers and JSON
    /// can hold as it is.
    func usableRequestID() -> Range32? {
        var found: Range32?
        for field in state.head.fields where field.known == .xRequestID {
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

    /// UUIDs have 36 bytes, and the trace ids of known systems at most 100.
    private static let requestIDByteCountMax = 128
}
