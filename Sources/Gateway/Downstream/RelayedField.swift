import Bytes
import HTTP

extension ResponseHead {
    /// True if a field of an upstream's answer goes on to the client. Fields do not if they belong
    /// to the hop behind us (RFC 9110 section 7.6.1), state the length of the message, may come
    /// from the gateway only, or are removed by the route's edits.
    ///
    /// - Parameters:
    ///   - hasNominated: true if `Connection` names any field.
    ///   - hasTrailers: true if the client gets trailers, so that it may be told which.
    @inline(__always)
    func isRelayed(
        _ field: FieldRange, in bytes: Span<UInt8>, hasNominated: Bool, hasTrailers: Bool,
        _ names: SiteFieldNames, _ edits: FieldEdits?
    ) -> Bool {
        switch field.known {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .contentLength,
            .upgrade, .te:
            return false
        // Every answer has the exchange's own id.
        case .xRequestID: return false
        case .trailer where !hasTrailers: return false
        default: break
        }
        if hasNominated, isNominated(field, in: bytes) { return false }
        let name = bytes.extracting(field.name)
        if let edits, edits.removed.contains(name) { return false }
        return !names.reservedInResponses.contains(name)
    }
}

extension Recorder {
    /// Whether the answer tells the request's id: always, unless the route removes the field from
    /// its answers, or sets another value.
    func tellsRequestID(isOfRoute: Bool = true) -> Bool {
        guard isOfRoute, let edits = match.handling?.responseEdits else { return true }
        return !edits.removed.contains(Self.requestIDField.span)
    }

    /// Appends the line with the request's id, if the answer has it.
    func appendRequestIDLine(isOfRoute: Bool, to output: inout ByteBuffer) {
        guard tellsRequestID(isOfRoute: isOfRoute) else { return }
        output.append("X-Request-Id: ")
        rewriter.appendRequestID(to: &output)
        output.append("\r\n")
    }

    static let requestIDField = Array("x-request-id".utf8)

    /// Calls `relay` for each field of an upstream's answer that goes on to the client.
    ///
    /// - Parameter hasTrailers: true if the client gets trailers, so that it may be told which.
    /// - Returns: true if the answer has a `Date`.
    @inline(__always)
    func forEachField(
        of head: borrowing ResponseHead, _ bytes: Span<UInt8>, hasTrailers: Bool,
        _ relay: (FieldRange, Span<UInt8>) -> Void
    ) -> Bool {
        let edits = match.handling?.responseEdits
        let names = site.fieldNames
        var hasDate = false
        let hasNominated = !head.connectionTokens.isEmpty
        for field in head.fields {
            hasDate = hasDate || field.known == .date
            guard
                head.isRelayed(
                    field, in: bytes, hasNominated: hasNominated, hasTrailers: hasTrailers,
                    names, edits)
            else { continue }
            relay(field, bytes)
        }
        return hasDate
    }

    /// Calls `relay` for each field of an upstream's trailer section that goes on to the client.
    /// The rules are those of its head; fields that may stand only in a head are left out.
    func forEachTrailer(
        of trailers: TrailerSection, _ relay: (FieldRange, Span<UInt8>) -> Void
    ) {
        let bytes = trailers.bytes.span
        let edits = match.handling?.responseEdits
        for field in trailers.fields where field.known.mayTrail {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            if !site.fieldNames.reservedInResponses.contains(name) { relay(field, bytes) }
        }
    }

    /// Calls `relay` for each field of a request's trailer section that goes on to the upstream.
    func forEachRequestTrailer(_ relay: (FieldRange, Span<UInt8>) -> Void) {
        guard let trailers = intake.trailers else { return }
        let bytes = trailers.bytes.span
        let edits = match.handling?.requestEdits
        for field in trailers.fields {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            if site.fieldNames.mayTrail(name) { relay(field, bytes) }
        }
    }

    /// True if the client accepts trailers.
    var takesTrailers: Bool {
        return head.takesTrailers(in: headBytes.span)
    }
}
