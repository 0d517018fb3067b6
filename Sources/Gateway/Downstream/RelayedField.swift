import Bytes
import HTTP

extension ResponseHead {
    /// Whether a field of an upstream's answer goes on to the client: not what belongs to the hop
    /// behind us (RFC 9110 section 7.6.1), says how long the message is, only we may say, or the
    /// route's edits remove.
    ///
    /// - Parameters:
    ///   - hasNominated: whether `Connection` names any field.
    ///   - hasTrailers: whether the client gets trailers, so that it may be told which.
    @inline(__always)
    func isRelayed(
        _ field: FieldRange, in bytes: Span<UInt8>, hasNominated: Bool, hasTrailers: Bool,
        reserved: FieldNameSet, _ edits: FieldEdits?
    ) -> Bool {
        switch field.known {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .contentLength,
            .upgrade, .te:
            return false
        case .trailer where !hasTrailers: return false
        default: break
        }
        if hasNominated, isNominated(field, in: bytes) { return false }
        let name = bytes.extracting(field.name)
        if let edits, edits.removed.contains(name) { return false }
        return !reserved.contains(name)
    }
}

extension Exchange {
    /// Gives the fields of an upstream's trailer section that go on to the client to `relay`: the
    /// rules are those of its head, and what belongs there alone is left out.
    func forEachTrailer(
        of trailers: TrailerSection, _ relay: (FieldRange, Span<UInt8>) -> Void
    ) {
        let bytes = trailers.bytes.span
        let edits = treatment?.responseEdits
        for field in trailers.fields where field.known.mayTrail {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            if !site.fieldNames.reservedInResponses.contains(name) { relay(field, bytes) }
        }
    }

    /// The same for the fields of a request's trailer section on their way to the upstream.
    func forEachRequestTrailer(_ relay: (FieldRange, Span<UInt8>) -> Void) {
        guard let trailers else { return }
        let bytes = trailers.bytes.span
        let edits = treatment?.requestEdits
        for field in trailers.fields where field.known.mayTrail {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            // Who the client is, and what it proved, was said in the head by us.
            guard !site.fieldNames.reserved.contains(name), !worker.forwardingNames.contains(name),
                !worker.overridingNames.contains(name),
                KnownField(foldingUnderscores: name).mayTrail
            else { continue }
            relay(field, bytes)
        }
    }

    /// Whether the client takes trailers.
    var takesTrailers: Bool {
        return head.takesTrailers(in: headBytes.span)
    }
}
