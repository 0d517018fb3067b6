import Bytes
import HTTP

extension FuzzTarget {
    /// As ``requestHead``. The first byte says what the request's method was.
    static let responseHead = FuzzTarget("response-head", byteCountMax: 1024) { input in
        guard let first = input.first else { return }
        let method: Method = first == UInt8(ascii: "H") ? .head : .get
        let bytes = Array(input.dropFirst())
        _ = try ResponseText.checked(bytes) { ResponseText($0, cuts: $1, method, limits: $2) }
    }
}

/// Everything that ``ResponseHead`` says, as bytes.
private struct ResponseText: HeadText {
    var outcome: HeadOutcome
    var byteCount = 0
    var status: UInt16 = 0
    var reason: [UInt8] = []
    var version = HTTPVersion.http11
    var framing = BodyFraming.none
    var contentLength: UInt64?
    var keepAlive = false
    var hasUpgrade = false
    var fields: [FieldText] = []
    var tokens: [[UInt8]] = []

    init(_ bytes: [UInt8], cuts: [Int], _ method: Method, limits: HeadLimits) {
        var head = ResponseHead()
        outcome = .incomplete
        for end in cuts where outcome == .incomplete {
            outcome = head.parse(
                bytes.span.extracting(0..<end), limits: limits, requestMethodKind: method)
        }
        guard outcome == .complete else { return }
        byteCount = head.byteCount
        status = head.status
        reason = bytes.text(head.reason)
        version = head.version
        framing = head.framing
        contentLength = head.contentLength
        keepAlive = head.keepAlive
        hasUpgrade = head.hasUpgrade
        fields = head.fields.map { FieldText($0, of: bytes) }
        tokens = head.connectionTokens.map { bytes.text($0) }
    }

    var written: [UInt8] {
        let version = version == .http11 ? "HTTP/1.1" : "HTTP/1.0"
        return Array("\(version) \(status) ".utf8) + reason + Array("\r\n".utf8)
            + fields.flatMap(\.line) + Array("\r\n".utf8)
    }
}
