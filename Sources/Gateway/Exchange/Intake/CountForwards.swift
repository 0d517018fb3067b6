import Bytes
import HTTP
import Judgement

/// `Max-Forwards` (RFC 9110 section 7.6.2), with which a client asks the hops on the way about
/// themselves. It applies to OPTIONS, and to TRACE, which the gateway refuses.
extension RequestIntake {
    /// How many further hops an OPTIONS request may take; nil if it has no limit. Throws if the
    /// value is not a number or comes twice, because two hops could read it differently.
    func forwardsAllowed() throws(Refusal) -> UInt64? {
        let bytes = headBytes.span
        var allowed: UInt64?
        for field in state.head.fields where field.known == .maxForwards {
            let count = ASCII.decimal(bytes.extracting(field.value))
            guard allowed == nil, let count else {
                throw Refusal(.badRequest, .maxForwardsInvalid)
            }
            allowed = count
        }
        return allowed
    }
}
