import Bytes
import HTTP
import TLS

/// Where an exchange's answer goes: the connection, or the stream of one, that asked.
protocol ResponseSink: AnyObject {
    /// The peer's address as text, without its port. That of IPv4 needs no memory of its own.
    var peerText: String { get }
    /// The transport below, for questions to the kernel; nil once it is closed.
    var transport: Transport? { get }
    /// The exchange cannot go on without the body: whoever waits for `100 (Continue)` gets it.
    func wantsBody()
    /// A whole answer of the gateway's own.
    func respond(_ response: LocalResponse)
    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange)
    /// False if the client takes no head so large: nothing of it is sent.
    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool
    /// False if the client takes bytes more slowly than they come.
    func relayBody(_ bytes: Span<UInt8>) -> Bool
    /// Takes the first `byteCount` bytes out of `buffer`; with its storage, where that spares a
    /// copy.
    func relayBody(_ byteCount: Int, outOf buffer: inout ByteBuffer) -> Bool
    /// Takes the next bytes of the answer, at most so many, straight from the upstream's
    /// connection; nil if they have to be read.
    func relayBody(from upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece?
    /// How many bytes of the answer may be read for the client now, 0 where it has to take some
    /// first: the upstream is told when it may go on.
    func room() -> Int
    func flushResponse()
    /// Fields after the content; ``endResponse()`` follows.
    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange)
    func endResponse()
    /// Refuses the request as one that nobody has acted on. False if the protocol has no word for
    /// that: nothing was sent then.
    func refuseRequest() -> Bool
    /// The answer cannot be finished: the client must notice.
    func abortResponse()
    /// The upstream has taken what made the client's body wait.
    func resumeBody()
    /// The client has left.
    func lose()
    /// The record is written; the exchange may be used again.
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

/// An answer that the gateway gives itself.
struct LocalResponse {
    var status: UInt16
    var contentType: StaticString?
    var body: [UInt8] = []
    /// Written as they are: names and values are the gateway's own.
    var fields: [(name: StaticString, value: [UInt8])] = []
    /// What an upstream would be told of a request that a proxy asks about.
    var verdict: [(name: [UInt8], value: [UInt8])] = []
    /// A route's own answer, which its `response_headers` change.
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
