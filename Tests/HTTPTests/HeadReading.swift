import Bytes
import HTTP

let testLimits = HeadLimits(headByteCountMax: 2048, fieldCountMax: 20, targetByteCountMax: 200)

/// What tests compare of a request head, with text in place of ranges.
struct ReadRequest: Equatable {
    var outcome: HeadOutcome
    var byteCount = 0
    var method = ""
    var methodKind = Method.other
    var target = ""
    var targetForm = TargetForm.origin
    var originTarget = ""
    var host: String?
    var version = HTTPVersion.http11
    var framing = BodyFraming.none
    var keepAlive = false
    var expectsContinue = false
    var hasUpgrade = false
    var fields: [String] = []
    var tokens: [String] = []

    init(_ head: RequestHead, _ outcome: HeadOutcome, _ bytes: [UInt8]) {
        self.outcome = outcome
        guard outcome == .complete else { return }
        byteCount = head.byteCount
        method = text(head.method, bytes)
        methodKind = head.methodKind
        target = text(head.target, bytes)
        targetForm = head.targetForm
        originTarget = text(head.originTarget, bytes)
        host = head.host.map { text($0, bytes) }
        version = head.version
        framing = head.framing
        keepAlive = head.keepAlive
        expectsContinue = head.expectsContinue
        hasUpgrade = head.hasUpgrade
        fields = texts(head.fields, bytes)
        tokens = head.connectionTokens.map { text($0, bytes) }
    }
}

struct ReadResponse: Equatable {
    var outcome: HeadOutcome
    var byteCount = 0
    var status: UInt16 = 0
    var reason = ""
    var framing = BodyFraming.none
    var contentLength: UInt64?
    var keepAlive = false
    var hasUpgrade = false
    var fields: [String] = []
    var tokens: [String] = []

    init(_ head: borrowing ResponseHead, _ outcome: HeadOutcome, _ bytes: [UInt8]) {
        self.outcome = outcome
        guard outcome == .complete else { return }
        byteCount = head.byteCount
        status = head.status
        reason = text(head.reason, bytes)
        framing = head.framing
        contentLength = head.contentLength
        keepAlive = head.keepAlive
        hasUpgrade = head.hasUpgrade
        fields = texts(head.fields, bytes)
        tokens = head.connectionTokens.map { text($0, bytes) }
    }
}

private func text(_ range: Range32, _ bytes: [UInt8]) -> String {
    String(decoding: bytes[range.offsets], as: UTF8.self)
}

private func texts(_ fields: [FieldRange], _ bytes: [UInt8]) -> [String] {
    fields.map { "\(text($0.name, bytes))=\(text($0.value, bytes)) (\($0.known))" }
}

/// Reads a request that arrives in pieces which end at `splits` and at its own end.
func readRequest(
    _ bytes: [UInt8], splits: [Int] = [], limits: HeadLimits = testLimits,
    reusing head: inout RequestHead
) -> ReadRequest {
    head.reset()
    for split in splits {
        let outcome = head.parse(bytes.span.extracting(first: split), limits: limits)
        if outcome != .incomplete { return ReadRequest(head, outcome, bytes) }
    }
    let outcome = head.parse(bytes.span, limits: limits)
    return ReadRequest(head, outcome, bytes)
}

func readRequest(
    _ message: String, splits: [Int] = [], limits: HeadLimits = testLimits
) -> ReadRequest {
    var head = RequestHead()
    return readRequest(Array(message.utf8), splits: splits, limits: limits, reusing: &head)
}

func readResponse(
    _ bytes: [UInt8], to method: Method = .get, splits: [Int] = [],
    limits: HeadLimits = testLimits
) -> ReadResponse {
    var head = ResponseHead()
    for split in splits {
        let outcome = head.parse(
            bytes.span.extracting(first: split), limits: limits, requestMethodKind: method)
        if outcome != .incomplete { return ReadResponse(head, outcome, bytes) }
    }
    let outcome = head.parse(bytes.span, limits: limits, requestMethodKind: method)
    return ReadResponse(head, outcome, bytes)
}

func refused(_ reason: HTTPFault) -> HeadOutcome { .refused(HTTPRefusal(request: reason)) }

/// Numbers that are the same on each run of a test.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

// The macros of Swift Testing take no span.

func parse(_ bytes: [UInt8], with head: inout RequestHead) -> HeadOutcome {
    head.parse(bytes.span, limits: testLimits)
}

func knownField(_ name: [UInt8], foldingUnderscores: Bool = false) -> KnownField {
    foldingUnderscores ? KnownField(foldingUnderscores: name.span) : KnownField(name: name.span)
}
