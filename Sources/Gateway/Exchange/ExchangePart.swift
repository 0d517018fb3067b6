import HTTP
import Judgement
import Policy
import Settings

/// A part of an exchange. It changes only its own state, and reaches the other parts through the
/// exchange.
protocol ExchangePart {
    var exchange: Exchange { get }
}

extension ExchangePart {
    typealias Step = Exchange.Step

    @inline(__always) var services: WorkerServices { exchange.services }
    @inline(__always) var site: Site { exchange.site }
    @inline(__always) var client: ClientSide { exchange.client }

    /// The head as received. It is a copy, so that a stage can hold views into it while it works.
    @inline(__always) var headBytes: [UInt8] { exchange.intakeState.headStorage }

    @inline(__always) var head: RequestHead { exchange.intakeState.head }
    @inline(__always) var match: Match { exchange.intakeState.match }

    /// What the route demands. Inlined, so that a caller that reads one field copies no more.
    @inline(__always) var policy: RoutePolicy { exchange.judgeState.judgement.demand.policy }

    @inline(__always) var intake: RequestIntake { exchange.intake }
    @inline(__always) var checkCall: CheckCall { exchange.checkCall }
    @inline(__always) var judge: Judge { exchange.judge }
    @inline(__always) var limiter: RequestLimiter { exchange.limiter }
    @inline(__always) var prover: Prover { exchange.prover }
    @inline(__always) var assertions: AssertionProver { exchange.assertions }
    @inline(__always) var endpoints: EndpointDesk { exchange.endpoints }
    @inline(__always) var adminDesk: AdminDesk { exchange.adminDesk }
    @inline(__always) var accountant: Accountant { exchange.accountant }
    @inline(__always) var rewriter: HeadRewriter { exchange.rewriter }
    @inline(__always) var forwarder: Forwarder { exchange.forwarder }
    @inline(__always) var recorder: Recorder { exchange.recorder }
}

extension Exchange {
    @inline(__always) var intake: RequestIntake { RequestIntake(exchange: self) }
    @inline(__always) var checkCall: CheckCall { CheckCall(exchange: self) }
    @inline(__always) var judge: Judge { Judge(exchange: self) }
    @inline(__always) var limiter: RequestLimiter { RequestLimiter(exchange: self) }
    @inline(__always) var prover: Prover { Prover(exchange: self) }
    @inline(__always) var assertions: AssertionProver { AssertionProver(exchange: self) }
    @inline(__always) var endpoints: EndpointDesk { EndpointDesk(exchange: self) }
    @inline(__always) var adminDesk: AdminDesk { AdminDesk(exchange: self) }
    @inline(__always) var accountant: Accountant { Accountant(exchange: self) }
    @inline(__always) var rewriter: HeadRewriter { HeadRewriter(exchange: self) }
    @inline(__always) var forwarder: Forwarder { Forwarder(exchange: self) }
    @inline(__always) var recorder: Recorder { Recorder(exchange: self) }
}
