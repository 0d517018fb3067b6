import HTTP
import Testing

/// A request that must be refused, and why.
struct MalformedRequest: CustomTestStringConvertible {
    var message: String
    var reason: HTTPFault

    init(_ message: String, _ reason: HTTPFault) {
        self.message = message
        self.reason = reason
    }

    /// With the request line and Host of an ordinary request before it.
    init(field message: String, _ reason: HTTPFault) {
        self.init("POST /p HTTP/1.1\r\nHost: a.example\r\n\(message)\r\n\r\n", reason)
    }

    init(line: String, _ reason: HTTPFault) {
        self.init("\(line)\r\nHost: a.example\r\n\r\n", reason)
    }

    var testDescription: String { message.debugDescription }

    static let all = requestLines + lineEnds + fields + framing + hosts
}

private let requestLines: [MalformedRequest] = [
    .init("\n", .bareLineFeed),
    .init("\r\r", .bareCarriageReturn),
    .init("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .requestLineInvalid),
    .init(line: " GET / HTTP/1.1", .methodInvalid),
    .init(line: "\tGET / HTTP/1.1", .requestLineInvalid),
    .init(line: "GET\t/ HTTP/1.1", .requestLineInvalid),
    .init(line: "GET", .requestLineInvalid),
    .init(line: "GET /", .requestLineInvalid),
    .init(line: "GET / ", .requestLineInvalid),
    .init(line: "GET  / HTTP/1.1", .requestLineInvalid),
    .init(line: "GET /  HTTP/1.1", .requestLineInvalid),
    .init(line: "GET / HTTP/1.1 ", .requestLineInvalid),
    .init(line: "GET /\tHTTP/1.1", .requestLineInvalid),
    .init(line: "GET / HTTP/1.1\t", .requestLineInvalid),
    .init(line: "GET /a b HTTP/1.1", .versionInvalid),
    .init(line: "G[T / HTTP/1.1", .methodInvalid),
    .init(line: "GÉT / HTTP/1.1", .methodInvalid),
    .init(line: "G\0T / HTTP/1.1", .methodInvalid),
    .init(line: "get / HTTP/1.1", .methodInvalid),
    .init(line: "Post / HTTP/1.1", .methodInvalid),
    .init(line: "GET: / HTTP/1.1", .methodInvalid),
    .init(line: "\u{16}\u{3}\u{1} / HTTP/1.1", .methodInvalid),
    .init(line: "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1", .methodTooLong),
    .init(line: "CONNECT a.example:443 HTTP/1.1", .connectNotSupported),
    .init(line: "CONNECT / HTTP/1.1", .connectNotSupported),
    .init(line: "TRACE / HTTP/1.1", .traceNotSupported),
    .init(line: "GET a.example:443 HTTP/1.1", .targetInvalid),
    .init(line: "GET path HTTP/1.1", .targetInvalid),
    .init(line: "GET ?q HTTP/1.1", .targetInvalid),
    .init(line: "GET * HTTP/1.1", .targetInvalid),
    .init(line: "OPTIONS ** HTTP/1.1", .targetInvalid),
    .init(line: "OPTIONS *?a HTTP/1.1", .targetInvalid),
    .init(line: "GET /a#b HTTP/1.1", .fragmentInTarget),
    .init(line: "GET /a?b#c HTTP/1.1", .fragmentInTarget),
    .init(line: "GET #a HTTP/1.1", .fragmentInTarget),
    .init(line: "GET /\0 HTTP/1.1", .targetInvalid),
    .init(line: "GET /\u{1} HTTP/1.1", .targetInvalid),
    .init(line: "GET /\u{7F} HTTP/1.1", .targetInvalid),
    .init(line: "GET /é HTTP/1.1", .targetInvalid),
    .init(line: "GET /?é HTTP/1.1", .targetInvalid),
    .init(line: "GET ftp://a.example/ HTTP/1.1", .targetInvalid),
    .init(line: "GET http:///p HTTP/1.1", .targetInvalid),
    .init(line: "GET http:/a.example/p HTTP/1.1", .targetInvalid),
    .init(line: "GET http://?q HTTP/1.1", .targetInvalid),
    .init(line: "GET http://user@a.example/ HTTP/1.1", .targetInvalid),
    .init(line: "GET http://:/ HTTP/1.1", .targetInvalid),
    .init(line: "GET http://a.example:99999/ HTTP/1.1", .targetInvalid),
    .init(line: "GET http://a.example\\@b.example/ HTTP/1.1", .targetInvalid),
    .init(line: "GET http://b.example/ HTTP/1.1", .hostMismatch),
    .init(line: "GET http://a.example:443/ HTTP/1.1", .hostMismatch),
    .init(line: "GET https://a.example:80/ HTTP/1.1", .hostMismatch),
    .init(line: "GET http://a.example:080/ HTTP/1.1", .hostMismatch),
    .init(line: "GET http://b.example?a.example HTTP/1.1", .hostMismatch),
    .init(line: "GET / HTTP/0.9", .versionNotSupported),
    .init(line: "GET / HTTP/1.2", .versionNotSupported),
    .init(line: "GET / HTTP/2.0", .versionNotSupported),
    .init(line: "PRI * HTTP/2.0", .targetInvalid),
    .init(line: "GET / HTTP/1.10", .versionInvalid),
    .init(line: "GET / HTTP/1.", .versionInvalid),
    .init(line: "GET / HTTP/11", .versionInvalid),
    .init(line: "GET / HTTP/1,1", .versionInvalid),
    .init(line: "GET / HTTP/a.1", .versionInvalid),
    .init(line: "GET / http/1.1", .versionInvalid),
    .init(line: "GET / HTTPS/1.1", .versionInvalid),
    .init(line: "GET / HTTP 1.1", .versionInvalid),
    .init(line: "GET / ICY", .versionInvalid),
]

private let lineEnds: [MalformedRequest] = [
    .init("GET / HTTP/1.1\nHost: a\n\n", .bareLineFeed),
    .init("GET /\nHost: a\n\n", .bareLineFeed),
    .init("GET\n", .bareLineFeed),
    .init("GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed),
    .init("GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
    .init("GET / HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n", .bareLineFeed),
    .init("GET / HTTP/1.1\r\nHost\n: a\r\n\r\n", .bareLineFeed),
    .init("GET / HTTP/1.1\rHost: a\r\n\r\n", .bareCarriageReturn),
    .init("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", .bareCarriageReturn),
    .init("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", .bareCarriageReturn),
    .init("GET / HTTP/1.1\r\nHost: a\r\n\rX", .bareCarriageReturn),
    .init("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", .bareCarriageReturn),
]

private let fields: [MalformedRequest] = [
    .init(field: "X: a\r\n b", .obsoleteFold),
    .init(field: "X: a\r\n\tb", .obsoleteFold),
    .init(field: " X: a", .obsoleteFold),
    .init("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .obsoleteFold),
    .init(field: ": a", .fieldNameEmpty),
    .init(field: "X : a", .spaceBeforeColon),
    .init(field: "X\t: a", .spaceBeforeColon),
    .init(field: "Content-Length : 3", .spaceBeforeColon),
    .init(field: "Transfer-Encoding : chunked", .spaceBeforeColon),
    .init(field: "X Y: a", .spaceBeforeColon),
    .init(field: "NoColon", .fieldWithoutColon),
    .init(field: "X(Y): a", .fieldNameInvalid),
    .init(field: "X\0: a", .fieldNameInvalid),
    .init(field: "X\u{7F}: a", .fieldNameInvalid),
    .init(field: "É: a", .fieldNameInvalid),
    .init(field: "\"X\": a", .fieldNameInvalid),
    .init(field: "X/Y: a", .fieldNameInvalid),
    .init(field: "X: a\0b", .fieldValueInvalid),
    .init(field: "X: a\u{1}b", .fieldValueInvalid),
    .init(field: "X: a\u{7F}b", .fieldValueInvalid),
    .init(field: "X: 01234567\u{B}0123456789", .fieldValueInvalid),
    .init(field: "X: \u{1F}", .fieldValueInvalid),
    .init(field: "Expect: 200-ok", .expectationUnknown),
    .init(field: "Expect: 100-continue, 100-continue", .expectationUnknown),
    .init(field: "Expect:", .expectationUnknown),
    .init(field: "Expect: 100-continue\r\nExpect: 100-continue", .fieldDuplicate),
    .init(field: "Connection: a b", .connectionInvalid),
    .init(field: "Connection: close;q", .connectionInvalid),
    .init(
        field: "Connection: " + (0..<33).map { "n\($0)" }.joined(separator: ","),
        .connectionInvalid),
    .init(field: "Connection: \"close\"", .connectionInvalid),
    .init(field: "Connection: Host", .connectionNominatesEndToEnd),
    .init(field: "Connection: close, content-length", .connectionNominatesEndToEnd),
    .init(field: "Connection: X-Forwarded-For", .connectionNominatesEndToEnd),
    .init(field: "Connection: x_forwarded_for", .connectionNominatesEndToEnd),
    .init(field: "Connection: Authorization", .connectionNominatesEndToEnd),
    .init(field: "Content_Length: 3", .fieldNameAmbiguous),
    .init(field: "transfer_encoding: chunked", .fieldNameAmbiguous),
    .init(field: "Transfer_Encoding: chunked", .fieldNameAmbiguous),
]

private let framing: [MalformedRequest] = [
    .init(field: "Content-Length:", .contentLengthInvalid),
    .init(field: "Content-Length: -1", .contentLengthInvalid),
    .init(field: "Content-Length: +1", .contentLengthInvalid),
    .init(field: "Content-Length: 0x10", .contentLengthInvalid),
    .init(field: "Content-Length: 1 2", .contentLengthInvalid),
    .init(field: "Content-Length: 1.0", .contentLengthInvalid),
    .init(field: "Content-Length: 3, 3", .contentLengthInvalid),
    .init(field: "Content-Length: 3,4", .contentLengthInvalid),
    .init(field: "Content-Length: 9223372036854775808", .contentLengthInvalid),
    .init(field: "Content-Length: 18446744073709551616", .contentLengthInvalid),
    .init(field: "Content-Length: 99999999999999999999999", .contentLengthInvalid),
    .init(field: "Content-Length: 3\r\nContent-Length: 3", .contentLengthDuplicate),
    .init(field: "Content-Length: 3\r\ncontent-length: 4", .contentLengthDuplicate),
    .init(
        field: "Content-Length: 3\r\nTransfer-Encoding: chunked",
        .contentLengthWithTransferEncoding),
    .init(
        field: "Transfer-Encoding: chunked\r\nContent-Length: 0",
        .contentLengthWithTransferEncoding),
    .init(field: "Transfer-Encoding:", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: identity", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: gzip", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: xchunked", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: chunked, gzip", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: chunked, chunked", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: chunked;q=1", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: \"chunked\"", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: ,chunked", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: chunked,", .transferEncodingInvalid),
    .init(field: "Transfer-Encoding: gzip, chunked", .transferCodingUnknown),
    .init(field: "Transfer-Encoding: identity, chunked", .transferCodingUnknown),
    .init(
        field: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        .transferEncodingDuplicate),
    .init(
        field: "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip",
        .transferEncodingDuplicate),
    .init(
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        .transferEncodingNotAllowed),
]

private let hosts: [MalformedRequest] =
    [
        .init("GET / HTTP/1.1\r\n\r\n", .hostMissing),
        .init("GET http://a.example/ HTTP/1.1\r\n\r\n", .hostMissing),
        .init("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .hostDuplicate),
        .init("GET / HTTP/1.0\r\nHost: a\r\nhOST: b\r\n\r\n", .hostDuplicate),
        .init("GET / HTTP/1.0\r\nHost:\r\n\r\n", .hostInvalid),
    ]
    + [
        "", ":80", ":", "a::", "a:b", "a:-1", "a:65536", "a:000080", "a b", "a,b@c", "user@a",
        "a/b",
        "a?b", "a#b", "a%41", "é", "[::1", "::1", "[]", "[:1]", "[1:]", "[::1]x",
        "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1::2::3]", "[12345::]", "[g::]",
        "[fe80::1%25eth0]", "[v1.a]", "[::256.0.0.1]", "[::1.2.3]", "[1.2.3.4]", "[:::]",
        "[1:2:3:4:5:6:7:8::]",
    ].map { .init("GET / HTTP/1.1\r\nHost: \($0)\r\n\r\n", .hostInvalid) }
