import Bytes
import HTTP

extension ResponseHead {
    /// Whether a field of an upstream's answer goes on to the client: not what belongs to the hop
    /// behind us (RFC 9110 section 7.6.1), says how long the message is, or only we may say.
    ///
    /// - Parameter hasNominated: whether `Connection` names any field.
    @inline(__always)
    func isRelayed(
        _ field: FieldRange, in bytes: Span<UInt8>, hasNominated: Bool, reserved: FieldNameSet
    ) -> Bool {
        switch field.known {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .contentLength,
            .trailer, .upgrade, .te:
            return false
        default: break
        }
        if hasNominated, isNominated(field, in: bytes) { return false }
        return !reserved.contains(bytes.extracting(field.name))
    }
}
