import Bytes
import EventLoop
import HTTP
import Judgement
import TLS
import Testing

@testable import Gateway

/// Takes what an exchange answers.
private final class AnswerSink: ResponseSink {
    private(set) var status: UInt16?
    let peerText = ""
    let transport: Transport? = nil

    var isContinueOwed: Bool { false }
    func sendContinue() {}
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
    func lose() {}
    func exchangeEnded() {}
}

@Suite("The border to upstreams")
struct BorderTests {}

extension BorderTests {
    /// An exchange that has matched a route and is about to ask for a connection.
    private func exchange(of stepped: SteppedWorker, answering sink: AnswerSink) throws -> Exchange
    {
        let exchange = stepped.worker.takeExchange()
        exchange.begin(
            on: sink, listener: stepped.worker.services.idleListener,
            peer: try #require(SocketAddress.numeric(host: "127.0.0.1", port: 1)),
            isPeerTrusted: false)
        exchange.intake.state.match.routeIndex = 0
        exchange.intake.state.match.upstreamIndex = 0
        exchange.phase = .leaseUpstream
        return exchange
    }

    @Test("a request about which no stage decided is refused with 500, and no connection is made")
    func undecided() throws {
        let stepped = try SteppedWorker()
        let decide: [(String, forwards: Bool, (inout Judgement) -> Void)] = [
            ("undecided", false, { _ in }),
            ("passed", true, { $0.pass() }),
            ("answered", false, { $0.answer() }),
            ("refused", false, { $0.refuse(Refusal(.keyUnknown)) }),
            ("verified", true, { $0.conclude() }),
        ]
        for (name, forwards, decide) in decide {
            let sink = AnswerSink()
            let exchange = try exchange(of: stepped, answering: sink)
            decide(&exchange.judge.state.judgement)
            exchange.advance()
            #expect(sink.status == (forwards ? nil : 500), "\(name)")
            #expect(exchange.forwarder.state.attempts.count == (forwards ? 1 : 0), "\(name)")
            if forwards { exchange.downstreamIsLost() }
        }
    }

    @Test("an exchange that is gone leaves nothing of its decision", arguments: [true, false])
    func released(forwards: Bool) throws {
        let stepped = try SteppedWorker()
        weak var state: Judge.State?
        do {
            let exchange = try exchange(of: stepped, answering: AnswerSink())
            state = exchange.judge.state
            if forwards { exchange.judge.state.judgement.pass() }
            exchange.advance()
            if forwards { exchange.downstreamIsLost() }
        }
        #expect(state == nil)
    }

    @Test("an exchange that is used again knows nothing of the body before")
    func reset() throws {
        let stepped = try SteppedWorker()
        let exchange = stepped.worker.takeExchange()
        exchange.intake.state.digest = Bytes32(word0: 1, word1: 2, word2: 3, word3: 4)
        exchange.reset()
        #expect(exchange.intake.state.digest == .zero)
    }
}
