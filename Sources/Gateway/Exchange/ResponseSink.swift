import Bytes
import HTTP
import TLS

/// The client's connection, or its HTTP/2 stream, which carries an exchange's answer.
protocol ResponseSink: AnyObject {
    /// The peer's address as text, without the port. For IPv4 the text needs no allocation.
    var peerText: String { get }
    /// The transport below, for system calls about the connection; nil once it is closed.
    var transport: Transport? { get }
    /// True while the client waits for `100 (Continue)` before it sends the body.
    var isContinueOwed: Bool { get }
    /// Sends `100 (Continue)`, which is owed.
    func sendContinue()
    /// Sends a whole answer of the gateway's own.
    func respond(_ response: LocalResponse)
    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange)
    /// Sends the answer's head. False if the client accepts no head so large; then nothing is sent.
    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool
    /// Sends the next bytes of the answer. False if the client takes them more slowly than they
    /// come.
    func relayBody(_ bytes: Span<UInt8>) -> Bool
    /// Takes the first `byteCount` bytes out of `buffer`, with its storage if that saves a copy.
    func relayBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool
    /// Moves the next bytes of the answer, at most `byteCountMax`, straight from the upstream's
    /// connection. Nil if they have to be read.
    func relayBody(from upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece?
    /// How many bytes of the answer may be read for the client now. If the number is 0, the client
    /// has to take some first, and the upstream is told when it may go on.
    func room() -> Int
    func flushResponse()
    /// Sends the fields after the content; ``endResponse()`` follows.
    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange)
    func endResponse()
    /// Refuses the request as one that no server has acted on. False, with nothing sent, if the
    /// protocol cannot say so.
    func refuseRequest() -> Bool
    /// The answer cannot be completed, and the client has to notice.
    func abortResponse()
    /// The upstream has taken the bytes that made the client's body wait.
    func resumeBody()
    /// The client has left.
    func lose()
    /// The record is written, so the exchange may be used again.
    func exchangeEnded()
}

extension ResponseSink {
    func refuseRequest() -> Bool { false }

    func relayBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool {
        let isReady = relayBody(buffer.readable.extracting(first: byteCount))
        buffer.consume(byteCount)
        return isReady
    }

    func relayBody(from upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? { nil }
}

/// An answer of the gateway's own.
struct LocalResponse {
    var status: UInt16
    var contentType: StaticString?
    var body: [UInt8] = []
    /// Names and values are written as they are, because the gateway made them.
    var fields: [(name: StaticString, value: [UInt8])] = []
    /// The fields that the upstream of a request would get. They go to the proxy that asks about
    /// it.
    var verdict: [(name: [UInt8], value: [UInt8])] = []
    /// True for a route's own answer, which `response_headers` changes.
    var isOfRoute = false

    init(status: UInt16, contentType: StaticString? = nil, body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// Appends the lines of ``fields`` and ``verdict``.
    func appendFields(to output: inout ByteBuffer) {
        for field in fields { output.append(field: field.name, field.value) }
        for field in verdict {
            output.append(field.name)
            output.append(": ")
            output.append(field.value)
            output.append("\r\n")
        }
    }
}
