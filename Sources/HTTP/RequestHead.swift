/// The form of a request target (RFC 9112 section 3.2). The fourth, the authority form, comes only
/// with CONNECT, which is refused.
public enum TargetForm: UInt8, Sendable {
    case origin, absolute, asterisk
}

/// A request's head, parsed strictly by RFC 9112: whatever two servers might read differently is
/// refused, and nothing is repaired.
///
/// It holds ranges, not bytes: the caller keeps the message in place and passes it again. One value
/// serves all requests of a connection: ``reset()`` keeps the arrays' storage.
public struct RequestHead: Sendable {
    enum Phase: Equatable {
        case start, method, target, version, fields, complete
        case refused(HTTPRefusal)
    }

    /// The bytes of the head, from the first one to the end of the empty line, including a skipped
    /// first empty line.
    public internal(set) var byteCount = 0
    public internal(set) var method = Range32.empty
    public internal(set) var methodKind = Method.other
    /// The target as received.
    public internal(set) var target = Range32.empty
    public internal(set) var targetForm = TargetForm.origin
    /// The target that is matched and forwarded: the target itself, or the part of an absolute-form
    /// target after its authority. If that part is empty, it is a `/` out of the target's `//`. If
    /// it has a query but no path, call ``completeTarget(in:)`` first.
    public internal(set) var originTarget = Range32.empty
    /// The authority of an absolute-form target, else the value of Host; nil if a request of
    /// HTTP/1.0 has neither.
    public internal(set) var host: Range32?
    public internal(set) var version = HTTPVersion.http11
    public internal(set) var framing = BodyFraming.none
    /// True if the client wants the connection kept (RFC 9112 section 9.3).
    public internal(set) var keepAlive = false
    /// True if the client waits for 100 (Continue) before its body; false if there is no body.
    public internal(set) var expectsContinue = false
    /// True if there is an Upgrade and Connection names it; never in HTTP/1.0.
    public internal(set) var hasUpgrade = false
    /// The value of `X-App-Attest-Failure`; nil without one, and empty if it came more than once.
    public internal(set) var failureReport: Range32?

    var section = FieldSection()
    var message = MessageFraming()
    var phase = Phase.start
    var position = 0
    var methodPacked: UInt64 = 0
    var authority: Range32?
    /// The default port of an absolute-form target's scheme, with its colon.
    var schemePort: [UInt8] = []
    var lacksPath = false

    public init() {}

    /// The fields, in the order received.
    public var fields: [FieldRange] { section.fields }
    /// True if a field of this name is there.
    public func has(_ known: KnownField) -> Bool { section.has(known) }
    /// The words of Connection other than `close`, `keep-alive` and `upgrade`.
    public var connectionTokens: [Range32] { message.connectionTokens }

    /// True if Connection names the field, so that it is not forwarded.
    public func isNominated(_ field: FieldRange, in bytes: Span<UInt8>) -> Bool {
        message.nominates(field, in: bytes)
    }

    /// Prepares for the next message.
    public mutating func reset() {
        phase = .start
        position = 0
        byteCount = 0
        method = .empty
        methodKind = .other
        methodPacked = 0
        target = .empty
        targetForm = .origin
        originTarget = .empty
        authority = nil
        if lacksPath { lacksPath = false }
        host = nil
        version = .http11
        framing = .none
        keepAlive = false
        expectsContinue = false
        hasUpgrade = false
        failureReport = nil
        section.reset(position: 0)
        message.reset()
    }

    /// Reads on.
    ///
    /// - Parameter bytes: everything received so far from the message's first byte on, including
    ///   the bytes of earlier calls. Bytes behind the head are not read.
    public mutating func parse(_ bytes: Span<UInt8>, limits: HeadLimits) -> HeadOutcome {
        let end = min(bytes.count, limits.headByteCountMax)
        var step = FieldSection.Step.advanced
        while step == .advanced {
            switch phase {
            case .start: step = skipEmptyLine(bytes, end)
            case .method: step = scanMethod(bytes, end)
            case .target: step = scanTarget(bytes, end, limits.targetByteCountMax)
            case .version: step = scanVersion(bytes, end)
            case .fields:
                step = section.scan(bytes, to: end, fieldCountMax: limits.fieldCountMax)
                if step == .complete, let fault = interpret(bytes) { step = .refused(fault) }
            case .complete: return .complete
            case .refused(let refusal): return .refused(refusal)
            }
        }
        let outcome = section.outcome(of: step, isFull: end == limits.headByteCountMax) {
            HTTPRefusal(request: $0)
        }
        switch outcome {
        case .complete:
            byteCount = section.position
            phase = .complete
        case .refused(let refusal): phase = .refused(refusal)
        case .incomplete: break
        }
        return outcome
    }
}
