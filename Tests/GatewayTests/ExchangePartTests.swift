import AppAttest
import Attestation
import Bytes
import Crypto
import EventLoop
import HTTP
import Judgement
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("The parts of an exchange")
struct ExchangePartTests {
    private let stepped: SteppedWorker
    private let exchange: Exchange

    init() throws {
        stepped = try SteppedWorker {
            $0.apps = [AppIdentity(id: GatewayUnderTest.appID, environments: [.production])]
        }
        exchange = stepped.worker.takeExchange()
    }
}

extension ExchangePartTests {
    @Test("the intake keeps a head, and forgets it, its route and its body")
    func intake() {
        let head = Array("GET /a HTTP/1.1\r\nHost: api\r\n\r\n".utf8)
        let outcome = exchange.intake.state.head.parse(head.span, limits: exchange.site.headLimits)
        #expect(outcome == .complete)
        exchange.intake.keepHead(head.span)
        #expect(exchange.intake.headBytes == head && exchange.intake.state.head.host != nil)
        exchange.intake.state.match.routeIndex = 1
        exchange.intake.beginBody(at: MonotonicInstant(nanoseconds: 5), isComplete: true)
        exchange.intake.expectDigest()
        exchange.intake.take(Bytes32(word0: 1, word1: 2, word2: 3, word3: 4))

        exchange.reset()
        #expect(exchange.intake.headBytes.isEmpty && exchange.intake.state.head.host == nil)
        #expect(exchange.intake.state.match.routeIndex == nil)
        #expect(!exchange.intake.state.isComplete && exchange.intake.state.hash == nil)
        #expect(exchange.intake.state.digest == .zero)
    }

    private var hasVerdict: Bool {
        let state = exchange.judge.state
        return switch state.verdict {
        case .some: true
        case nil: false
        }
    }

    @Test("the judge tells the judgement what was met, and forgets both it and the verdict")
    func judge() {
        exchange.judge.answer()
        exchange.judge.note(.check(.drainTimeout))
        exchange.judge.describe()
        #expect(exchange.outcome.decision == .answered)
        #expect(exchange.outcome.cause == .check(.drainTimeout))
        #expect(hasVerdict)

        exchange.reset()
        #expect(exchange.outcome.decision == .undecided && exchange.outcome.cause == nil)
        #expect(!hasVerdict)
    }

    @Test("the prover tells the facts of a proof at each step, and forgets them")
    func prover() {
        exchange.prover.take(.announced)
        #expect(exchange.prover.state.proofFacts.kind == .assertion)
        #expect(exchange.prover.state.proofFacts.keyID == nil)

        exchange.reset()
        #expect(exchange.prover.state.proofFacts.kind == nil)
    }

    @Test("a key that is not found again, or has no app any more, leaves no app behind")
    func appOfKey() throws {
        let key = try P256PrivateKey.generate().publicKey
        func found(_ appIndex: Int?) -> CachedKey {
            CachedKey(
                publicKey: key, appIndex: appIndex, environment: .production, status: .active,
                counterFloor: 0)
        }
        for next in [nil, found(nil)] {
            exchange.prover.use(found(0), asOf: 1)
            #expect(exchange.prover.known.app != nil)
            exchange.prover.use(next, asOf: 2)
            #expect(exchange.prover.known.app == nil)
        }
    }

    @Test("the rewriter's head and the forwarder's attempts are those of one request")
    func forwarding() {
        exchange.rewriter.state.upstreamHead.append("GET / HTTP/1.1\r\n")
        exchange.forwarder.state.attempts.count = 2
        exchange.forwarder.clientIsAwaited(since: MonotonicInstant(nanoseconds: 5))
        exchange.forwarder.clientSent(10, enough: 100)
        #expect(exchange.awaitedClientSince != nil && exchange.attemptCount == 2)
        exchange.forwarder.clientSent(90, enough: 100)
        #expect(exchange.awaitedClientSince == nil, "it has sent enough")

        exchange.reset()
        let headByteCount = exchange.rewriter.state.upstreamHead.count
        #expect(headByteCount == 0)
        #expect(exchange.attemptCount == 0 && exchange.forwarder.state.clientWait.byteCount == 0)
    }
}
