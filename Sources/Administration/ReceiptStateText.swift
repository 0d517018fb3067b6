import Attestation
import EventLoop
import JSON
import KeyStore

/// The state of a key's receipt, in the form of the member `receipt_state` of its line.
enum ReceiptStateText {
    static func write(_ state: ReceiptState, to writer: inout JSONWriter) {
        writer.beginObject("receipt_state")
        if let kind = state.kind { writer.member("type", string: kind.rawValue) }
        let times: [(StaticString, Int64?)] = [
            ("created_at", state.createdAt), ("not_before", state.notBefore),
            ("expires_at", state.expiresAt), ("next_renewal", state.dueAt),
            ("last_attempt", state.attemptedAt),
        ]
        for (name, seconds) in times {
            guard let seconds else { continue }
            writer.member(name, string: WallClock.timestamp(seconds: seconds))
        }
        if let outcome = state.lastOutcome {
            writer.member("last_outcome", string: outcome.rawValue)
        }
        if state.failureCount > 0 { writer.member("failures", int: Int64(state.failureCount)) }
        writer.endObject()
    }

    static func parse(_ members: [String: JSONValue]) throws(KeyLine.Failure) -> ReceiptState {
        let known: Set<String> = [
            "type", "created_at", "not_before", "expires_at", "next_renewal", "last_attempt",
            "last_outcome", "failures",
        ]
        if let unknown = members.keys.sorted().first(where: { !known.contains($0) }) {
            throw KeyLine.Failure("unknown member receipt_state.\(unknown)")
        }
        var state = ReceiptState(
            createdAt: try time("created_at", members), notBefore: try time("not_before", members),
            expiresAt: try time("expires_at", members), dueAt: try time("next_renewal", members),
            attemptedAt: try time("last_attempt", members))
        if let text = try KeyLine.optional("type", members) {
            guard let kind = ReceiptKind(rawValue: text) else {
                throw KeyLine.Failure("receipt_state.type is neither ATTEST nor RECEIPT")
            }
            state.kind = kind
        }
        if let text = try KeyLine.optional("last_outcome", members) {
            guard let outcome = RenewalOutcome(rawValue: text) else {
                throw KeyLine.Failure("receipt_state.last_outcome is no outcome of a renewal")
            }
            state.lastOutcome = outcome
        }
        if let count = try KeyLine.integer("failures", members) {
            guard let count = UInt32(exactly: count) else {
                throw KeyLine.Failure("receipt_state.failures is not between 0 and 4294967295")
            }
            state.failureCount = count
        }
        return state
    }

    private static func time(
        _ name: String, _ members: [String: JSONValue]
    ) throws(KeyLine.Failure) -> Int64? {
        guard let text = try KeyLine.optional(name, members) else { return nil }
        guard let seconds = WallClock.seconds(fromTimestamp: text) else {
            throw KeyLine.Failure("receipt_state.\(name) is not an RFC 3339 time")
        }
        return seconds
    }
}
