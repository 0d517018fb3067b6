/// The head of an upstream's answer, read as strictly as ``RequestHead``.
///
/// Relaxed in details that many servers get wrong and that no reading depends on: the space before
/// an empty reason phrase may be missing, there may be a space before the colon of a field that
/// frames nothing, and a 204 may announce a body, which it cannot have; the connection is not used
/// again then. Each connection has one, which is reused and never copied.
public struct ResponseHead: ~Copyable, Sendable {
    enum Phase: Equatable {
        case statusLine, reason, fields, complete
        case refused(HTTPRefusal)
    }

    /// The bytes of the head, from the first one to the end of the empty line.
    public private(set) var byteCount = 0
    /// The status, 100 to 999.
    public private(set) var status: UInt16 = 0
    public private(set) var reason = Range32.empty
    public private(set) var version = HTTPVersion.http11
    public private(set) var framing = BodyFraming.none
    /// The value of Content-Length, also if the answer has no body (HEAD, 304).
    public var contentLength: UInt64? { message.contentLength }
    /// True if the connection can be used again after the body.
    public private(set) var keepAlive = false
    /// True if fields are known to follow the body.
    public private(set) var hasTrailers = false
    /// True for 101, and if Connection names Upgrade.
    public private(set) var hasUpgrade = false

    private var section = FieldSection(removesSpaceBeforeColon: true)
    private var message = MessageFraming()
    private var phase = Phase.statusLine
    private var position = 0

    public init() {}

    /// The fields, in the order received.
    public var fields: [FieldRange] { section.fields }
    /// True if a field of this name is there.
    public func has(_ known: KnownField) -> Bool { section.has(known) }
    /// The words of Connection other than `close`, `keep-alive` and `upgrade`.
    public var connectionTokens: [Range32] { message.connectionTokens }
    /// True for 1xx except 101: another head follows.
    public var isInterim: Bool { status < 200 && status != 101 }

    /// True if Connection names the field, so that it is not forwarded.
    public func isNominated(_ field: FieldRange, in bytes: Span<UInt8>) -> Bool {
        message.nominates(field, in: bytes)
    }

    /// Notes that nothing follows the head, because its stream has ended: without a length that
    /// means an empty body.
    public mutating func endsWithHead() {
        if framing == .untilClose { framing = .length(0) }
    }

    /// Notes that fields follow a body that is known to be empty.
    public mutating func noteTrailers() { hasTrailers = true }

    /// Prepares for the next message.
    public mutating func reset() {
        phase = .statusLine
        position = 0
        byteCount = 0
        status = 0
        reason = .empty
        version = .http11
        framing = .none
        keepAlive = false
        hasTrailers = false
        hasUpgrade = false
        section.reset(position: 0)
        message.reset()
    }

    /// Reads on; a refusal carries status 502.
    ///
    /// - Parameters:
    ///   - bytes: everything received so far from the message's first byte on.
    ///   - requestMethodKind: the method of the request that this answers.
    public mutating func parse(
        _ bytes: Span<UInt8>, limits: HeadLimits, requestMethodKind: Method
    ) -> HeadOutcome {
        let end = min(bytes.count, limits.headByteCountMax)
        var step = FieldSection.Step.advanced
        while step == .advanced {
            switch phase {
            case .statusLine: step = scanStatus(bytes, end)
            case .reason: step = scanReason(bytes, end)
            case .fields:
                step = section.scan(bytes, to: end, fieldCountMax: limits.fieldCountMax)
                if step == .complete, let fault = interpret(bytes, requestMethodKind) {
                    step = .refused(fault)
                }
            case .complete: return .complete
            case .refused(let refusal): return .refused(refusal)
            }
        }
        let outcome = section.outcome(of: step, isFull: end == limits.headByteCountMax) {
            HTTPRefusal(response: $0)
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

    /// Reads `HTTP/1.1 200`, twelve bytes, and what follows them (RFC 9112 section 4).
    private mutating func scanStatus(_ bytes: Span<UInt8>, _ end: Int) -> FieldSection.Step {
        if let fault = HTTPVersion.fault(in: bytes, from: 0, to: end) { return .refused(fault) }
        let digitsStart = HTTPVersion.byteCount + 1
        let digitsEnd = digitsStart + 3
        for offset in HTTPVersion.byteCount..<max(HTTPVersion.byteCount, min(digitsEnd, end)) {
            let byte = bytes[offset]
            let isRight =
                if offset < digitsStart {
                    byte == ASCIIByte.space
                } else {
                    byte &- ASCIIByte.zero < 10
                        && (offset > digitsStart || byte != ASCIIByte.zero)
                }
            guard isRight else {
                return .refused(byte == ASCIIByte.lineFeed ? .bareLineFeed : .statusLineInvalid)
            }
        }
        guard digitsEnd < end else { return .incomplete }
        status = 0
        for offset in digitsStart..<digitsEnd {
            status = status * 10 + UInt16(bytes[offset] - ASCIIByte.zero)
        }
        version = bytes[HTTPVersion.byteCount - 1] == ASCIIByte.one ? .http11 : .http10
        switch bytes[digitsEnd] {
        case ASCIIByte.space: position = digitsEnd + 1
        case ASCIIByte.carriageReturn: position = digitsEnd
        case ASCIIByte.lineFeed: return .refused(.bareLineFeed)
        default: return .refused(.statusLineInvalid)
        }
        reason = Range32(position, position)
        phase = .reason
        return .advanced
    }

    private mutating func scanReason(_ bytes: Span<UInt8>, _ end: Int) -> FieldSection.Step {
        let offset = bytes.firstControl(from: position, to: end)
        position = offset
        guard offset < end else { return .incomplete }
        guard bytes[offset] == ASCIIByte.carriageReturn else {
            let isLineFeed = bytes[offset] == ASCIIByte.lineFeed
            return .refused(isLineFeed ? .bareLineFeed : .statusLineInvalid)
        }
        let step = section.begin(behind: offset, bytes, end)
        guard step == .advanced else { return step }
        reason = Range32(Int(reason.start), offset)
        phase = .fields
        return step
    }

    private mutating func interpret(
        _ bytes: Span<UInt8>, _ requestMethod: Method
    ) -> HTTPFault? {
        var hasUpgradeField = false
        for index in 0..<section.fields.count {
            let field = section.fields[index]
            if let fault = message.take(field, in: bytes) { return fault }
            hasUpgradeField = hasUpgradeField || field.known == .upgrade
        }
        if let fault = message.contradiction(in: version) { return fault }
        hasUpgrade = hasUpgradeField && message.upgrades
        if let fault = frame(requestMethod) { return fault }
        keepAlive =
            message.keepAlive(in: version) && framing != .untilClose
            && !(status == 204 && announcesBody)
        return nil
    }

    /// Determines the framing of the body by RFC 9112 section 6.3.
    private mutating func frame(_ requestMethod: Method) -> HTTPFault? {
        if status < 200 {
            // A server that announces a body here may send one, and the final answer would then
            // begin in the middle of it.
            guard !announcesBody else { return .bodyNotAllowed }
            framing = .none
        } else if status == 204 {
            framing = .none
        } else if requestMethod == .head || status == 304 {
            framing = .none
        } else if message.isChunked {
            framing = .chunked
        } else if let contentLength = message.contentLength {
            framing = .length(contentLength)
        } else {
            framing = .untilClose
        }
        return nil
    }

    /// True if a body is announced. `Content-Length: 0` is common in answers that can have no body.
    private var announcesBody: Bool { message.isChunked || (message.contentLength ?? 0) > 0 }
}
