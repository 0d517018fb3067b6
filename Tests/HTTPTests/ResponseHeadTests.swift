import Bytes
import HTTP
import Testing

private let valid = [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 \r\n\r\n",
    "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.0 404 Not Found here\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-Foo : bar\r\nDate\t \t: x\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 999 \u{e9}t\u{e9}\r\nConnection: close, X-A\r\nX-A:\r\n\r\n",
]

private let malformed: [(String, HTTPFault)] = [
    ("\r\nHTTP/1.1 200 OK\r\n\r\n", .versionInvalid),
    ("ICY 200 OK\r\n\r\n", .versionInvalid),
    ("http/1.1 200 OK\r\n\r\n", .versionInvalid),
    ("HTTP/2.0 200 OK\r\n\r\n", .versionNotSupported),
    ("HTTP/1.1\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1  200 OK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1\t200 OK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 20 OK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 2000 OK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 099 OK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 2x0 OK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 200\tOK\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 200 O\0K\r\n\r\n", .statusLineInvalid),
    ("HTTP/1.1 200 OK\n\n", .bareLineFeed),
    ("HTTP/1.1 200\n", .bareLineFeed),
    ("HTTP/1.1 200 OK\rX\r\n\r\n", .bareCarriageReturn),
    ("HTTP/1.1 200 OK\r\nA: b\n\r\n", .bareLineFeed),
    ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", .obsoleteFold),
    ("HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", .spaceBeforeColon),
    ("HTTP/1.1 200 OK\r\nA \r\n\r\n", .spaceBeforeColon),
    ("HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\n", .spaceBeforeColon),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding\t: chunked\r\n\r\n", .spaceBeforeColon),
    ("HTTP/1.1 200 OK\r\nA\r\n\r\n", .fieldWithoutColon),
    ("HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n", .fieldValueInvalid),
    ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .contentLengthInvalid),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", .contentLengthInvalid),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        .contentLengthDuplicate
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        .contentLengthWithTransferEncoding
    ),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .transferCodingUnknown),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .transferEncodingInvalid),
    ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingNotAllowed),
    ("HTTP/1.1 204 No\r\nContent-Length: x\r\n\r\n", .contentLengthInvalid),
    ("HTTP/1.1 100 Go\r\nTransfer-Encoding: chunked\r\n\r\n", .bodyNotAllowed),
    ("HTTP/1.1 103 Hints\r\nContent-Length: 5\r\n\r\n", .bodyNotAllowed),
    ("HTTP/1.1 200 OK\r\nConnection: a b\r\n\r\n", .connectionInvalid),
]

@Suite("A response head")
struct ResponseHeadTests {}

extension ResponseHeadTests {
    @Test("is read with all its parts")
    func parts() {
        let read = readResponse(Array((valid[3] + "rest").utf8))
        #expect(read.outcome == .complete && read.byteCount == valid[3].utf8.count)
        #expect(read.status == 404 && read.reason == "Not Found here")
        #expect(read.framing == .length(0) && read.keepAlive)
        #expect(
            read.fields == [
                "Connection=keep-alive (connection)", "Content-Length=0 (contentLength)",
            ]
        )
    }

    @Test("gives the same result however it is split", arguments: valid)
    func splits(message: String) {
        let bytes = Array(message.utf8)
        let whole = readResponse(bytes)
        #expect(whole.outcome == .complete)
        for split in 0...bytes.count { #expect(readResponse(bytes, splits: [split]) == whole) }
        #expect(readResponse(bytes, splits: Array(0...bytes.count)) == whole)
    }

    @Test("is refused with 502 where it is malformed", arguments: malformed)
    func refusals(message: String, reason: HTTPFault) {
        let bytes = Array(message.utf8)
        let expected = HeadOutcome.refused(HTTPRefusal(status: 502, reason: reason))
        #expect(readResponse(bytes).outcome == expected)
        #expect(readResponse(bytes, splits: Array(0...bytes.count)).outcome == expected)
    }

    @Test("has a body by method, status and fields")
    func framing() {
        func framing(
            _ line: String, _ field: String, to method: Method = .get
        ) -> ReadResponse {
            readResponse(Array("HTTP/1.1 \(line)\r\n\(field)\r\n\r\n".utf8), to: method)
        }
        #expect(framing("200 OK", "A: b").framing == .untilClose)
        #expect(!framing("200 OK", "A: b").keepAlive)
        #expect(framing("200 OK", "Content-Length: 9").framing == .length(9))
        #expect(framing("200 OK", "Transfer-Encoding: chunked").framing == .chunked)
        let head = framing("200 OK", "Content-Length: 9", to: .head)
        #expect(head.framing == .none && head.contentLength == 9 && head.keepAlive)
        #expect(framing("200 OK", "Transfer-Encoding: chunked", to: .head).framing == .none)
        #expect(framing("304 Not Modified", "Content-Length: 9").framing == .none)
        #expect(framing("204 No Content", "Content-Length: 0").framing == .none)
        #expect(framing("204 No Content", "A: b").keepAlive)
        // It cannot have one, and who announces one may send it.
        for field in ["Content-Length: 9", "Transfer-Encoding: chunked"] {
            let announced = framing("204 No Content", field)
            #expect(announced.framing == .none && !announced.keepAlive)
        }
        #expect(framing("100 Continue", "A: b").framing == .none)
        #expect(framing("101 Switching", "A: b").framing == .none)
    }

    @Test("loses the space before a colon")
    func spaceBeforeColon() {
        let read = readResponse(
            Array("HTTP/1.1 200 OK\r\nX-Foo : bar\r\nConnection \t: close\r\n\r\n".utf8))
        #expect(read.fields == ["X-Foo=bar (other)", "Connection=close (connection)"])
        #expect(!read.keepAlive)
    }

    @Test("says which answers are only interim")
    func interim() {
        func isInterim(_ status: Int) -> Bool {
            let bytes = Array("HTTP/1.1 \(status) X\r\n\r\n".utf8)
            var head = ResponseHead()
            let outcome = head.parse(bytes.span, limits: testLimits, requestMethodKind: .get)
            #expect(outcome == .complete)
            return head.isInterim
        }
        #expect(isInterim(100) && isInterim(103))
        #expect(!isInterim(101) && !isInterim(200) && !isInterim(999))
    }

    @Test("never traps on mutated bytes, and judges them alike however split")
    func mutations() {
        var random = SeededGenerator(state: 2)
        for round in 0..<4000 {
            var bytes = Array(valid[round % valid.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
            let whole = readResponse(bytes)
            let split = Int.random(in: 0...bytes.count, using: &random)
            #expect(readResponse(bytes, splits: [split]) == whole)
        }
    }
}
