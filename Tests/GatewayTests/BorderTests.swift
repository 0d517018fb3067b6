import Bytes
import EventLoop
import HTTP
import Testing

@testable import Gateway

/// Takes what an exchange answers.
private final class AnswerSink: ResponseSink {
    private(set) var status: UInt16?
    let peerBytes: [UInt8] = []

    func wantsBody() {}
    func respond(_ response: LocalResponse) { status = response.status }
    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange) {}
    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool { true }
    func room() -> Int { .max }
    func relayBody(_ bytes: Span<UInt8>) -> Bool { true }
    func flushResponse() {}
    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange) {}
    func endResponse() {}
    func abortResponse() {}
    func resumeBody() {}
    func exchangeEnded() {}
}

@Suite("The border to upstreams")
struct BorderTests {
    @Test("a request about which nobody decided is refused with 500, and no connection is made")
    func undecided() throws {
        let stepped = try SteppedWorker()
        let peer = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 1))
        for decision in Decision.allCases {
            let exchange = stepped.worker.takeExchange()
            let sink = AnswerSink()
            exchange.begin(
                on: sink, listener: stepped.worker.idleListener, peer: peer, isPeerTrusted: false)
            exchange.routeIndex = 0
            exchange.phase = .leaseUpstream
            exchange.decision = decision
            exchange.advance()
            switch decision {
            case .undecided, .refused, .answered:
                #expect(sink.status == 500, "\(decision)")
                #expect(exchange.upstreamAttempts == 0)
            default:
                #expect(sink.status == nil, "\(decision)")
                #expect(exchange.upstreamAttempts == 1)
                exchange.downstreamIsLost()
            }
        }
    }

    @Test("an exchange that is used again knows nothing of the body before")
    func reset() throws {
        let exchange = try SteppedWorker().worker.takeExchange()
        exchange.bodyDigest = Bytes32(word0: 1, word1: 2, word2: 3, word3: 4)
        exchange.reset()
        #expect(exchange.bodyDigest == .zero)
    }
}
