import Bytes
import HTTP

extension FuzzTarget {
    /// A request's head is read alike however it is cut; written anew from what was read, it reads
    /// the same.
    static let requestHead = FuzzTarget("request-head", byteCountMax: 1024) { bytes in
        let read = try RequestText.checked(bytes) { RequestText($0, cuts: $1, limits: $2) }
        try read?.checkMeaning()
    }
}

/// Everything that ``RequestHead`` says, as bytes.
private struct RequestText: HeadText {
    var outcome: HeadOutcome
    var byteCount = 0
    var method: [UInt8] = []
    var methodKind = Method.other
    var target: [UInt8] = []
    var targetForm = TargetForm.origin
    var originTarget: [UInt8] = []
    var host: [UInt8]?
    var version = HTTPVersion.http11
    var framing = BodyFraming.none
    var keepAlive = false
    var expectsContinue = false
    var hasUpgrade = false
    var fields: [FieldText] = []
    var tokens: [[UInt8]] = []

    init(_ bytes: [UInt8], cuts: [Int], limits: HeadLimits) {
        var head = RequestHead()
        outcome = .incomplete
        for end in cuts where outcome == .incomplete {
            outcome = head.parse(bytes.span.extracting(0..<end), limits: limits)
        }
        guard outcome == .complete else { return }
        byteCount = head.byteCount
        method = bytes.text(head.method)
        methodKind = head.methodKind
        target = bytes.text(head.target)
        targetForm = head.targetForm
        fields = head.fields.map { FieldText($0, of: bytes) }
        tokens = head.connectionTokens.map { bytes.text($0) }
        var bytes = bytes
        head.completeTarget(in: &bytes)
        originTarget = bytes.text(head.originTarget)
        host = head.host.map { bytes.text($0) }
        version = head.version
        framing = head.framing
        keepAlive = head.keepAlive
        expectsContinue = head.expectsContinue
        hasUpgrade = head.hasUpgrade
    }

    var written: [UInt8] {
        let version = version == .http11 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n"
        return method + [0x20] + target + Array(version.utf8) + fields.flatMap(\.line)
            + Array("\r\n".utf8)
    }

    func values(_ known: KnownField) -> [[UInt8]] {
        fields.filter { $0.known == known }.map(\.value)
    }

    /// Framing and Host, read once more in the plainest way.
    func checkMeaning() throws(FuzzFinding) {
        let lengths = values(.contentLength)
        let codings = values(.transferEncoding)
        switch framing {
        case .none: try FuzzFinding.require(lengths.isEmpty && codings.isEmpty, "no framing")
        case .chunked:
            try FuzzFinding.require(
                lengths.isEmpty && codings.count == 1 && version == .http11, "chunked")
        case .length(let length):
            let text = lengths.first.map { String(decoding: $0, as: UTF8.self) }
            try FuzzFinding.require(
                codings.isEmpty && lengths.count == 1 && text.flatMap { UInt64($0) } == length,
                "one length")
        case .untilClose: throw FuzzFinding("a request that ends with its connection")
        }
        let hosts = values(.host)
        try FuzzFinding.require(
            hosts.count == 1 || (hosts.isEmpty && version == .http10), "one Host")
        try FuzzFinding.require(
            originTarget.first == UInt8(ascii: "/") || targetForm == .asterisk, "a path")
        try FuzzFinding.require(methodKind != .connect, "CONNECT")
    }
}
