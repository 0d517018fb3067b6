import Bytes
import HTTP

extension ResponseHead {
    /// Whether a field of an upstream's answer goes on to the client: not what belongs to the hop
    /// behind us (RFC 9110 section 7.6.1), says how long the message is, only we may say, or the
    /// route's edits remove.
    ///
    /// - Parameter hasNominated: whether `Connection` names any field.
    @inline(__always)
    func isRelayed(
        _ field: FieldRange, in bytes: Span<UInt8>, hasNominated: Bool, reserved: FieldNameSet,
        _ edits: FieldEdits?
    ) -> Bool {
        switch field.known {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .contentLength,
            .trailer, .upgrade, .te:
            return false
        default: break
        }
        if hasNominated, isNominated(field, in: bytes) { return false }
        let name = bytes.extracting(field.name)
        if let edits, edits.removed.contains(name) { return false }
        return !reserved.contains(name)
    }
}
