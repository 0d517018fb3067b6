import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Questions
import Settings

/// A gRPC call of Envoy on a check listener. `Check` asks about one request; `Process` reports one
/// as it comes, and gets its body back.
///
/// Envoy lets the request pass if a stream ends well without an answer. So every call that was not
/// answered ends with a status that is not OK.
final class EnvoyCall: ClientStream {
    enum Service {
        case check, process
    }

    enum State {
        /// The request in question has not been described yet.
        case asking
        case deciding
        /// The request may pass, and its body goes back.
        case relaying
        /// All of the request has gone back; the head of its response may come.
        case allowed
        case ended
    }

    let id: Int32
    let connection: HTTP2Connection
    private let head: HeadEvent
    /// The called method; nil if there is no such method.
    let service: Service?
    private let fault: GRPCStatus?
    private let isGRPC: Bool
    var state = State.asking
    var exchange: Exchange?
    let deadline: Deadline
    private var messages = GRPCMessages(byteCountMax: EnvoyCall.messageByteCountMax)
    /// The only message of a `Check`.
    private var question: [UInt8]?
    private var isClientEnded = false
    private var isAnsweredEarly = false
    var answer = EnvoyAnswer()
    /// The size of the window that Envoy gets back when the body's file takes more.
    var keptByteCount = 0

    /// The default limit of gRPC servers.
    private static let messageByteCountMax = 4 << 20

    var session: HTTP2Session { connection.session }
    var services: WorkerServices { connection.services }

    /// Nil if the request is no gRPC call: the gateway's endpoints answer on the same listener.
    init?(_ event: HeadEvent, on connection: HTTP2Connection) {
        var head = RequestHead()
        let bytes = event.bytes
        guard !event.isTooLarge,
            case .complete = head.parse(bytes.span, limits: connection.services.site.headLimits),
            head.byteCount == bytes.count, head.targetForm == .origin
        else { return nil }
        let target = bytes.span.extracting(head.originTarget)
        service =
            if ASCII.equals(target, Self.checkPath) {
                .check
            } else if ASCII.equals(target, Self.processPath) {
                .process
            } else {
                nil
            }
        var type: [UInt8] = []
        for field in head.fields where field.known == .contentType {
            type = bytes.span.extracting(field.value).array
        }
        isGRPC = Self.isGRPC(type)
        guard isGRPC || service != nil else { return nil }
        id = event.stream
        self.head = event
        self.connection = connection
        fault =
            if !connection.listener.answers(connection.peer) {
                GRPCStatus(.permissionDenied, "check.from does not name this peer")
            } else if service == nil || head.methodKind != .post {
                GRPCStatus(.unimplemented, "there is no such method")
            } else {
                nil
            }
        deadline = Deadline(wheel: connection.services.deadlines)
        deadline.handler = self
    }

    private static let checkPath = Array("/envoy.service.auth.v3.Authorization/Check".utf8)
    private static let processPath = Array(
        "/envoy.service.ext_proc.v3.ExternalProcessor/Process".utf8)

    /// True for `application/grpc` in protobuf, the only supported encoding.
    private static func isGRPC(_ type: [UInt8]) -> Bool {
        let end = type.firstIndex(of: UInt8(ascii: ";")) ?? type.count
        let word = type.span.extracting(first: end)
        return ASCII.equalsIgnoringCase(word, lowercase: plainType)
            || ASCII.equalsIgnoringCase(word, lowercase: protobufType)
    }

    private static let plainType = Array("application/grpc".utf8)
    private static let protobufType = Array("application/grpc+proto".utf8)

    func begin() {
        // Envoy has reset the stream at once, so nothing is done for it.
        guard session.isOpen(id) else { return }
        guard isGRPC else { return refuseType() }
        if let fault { return fail(fault) }
        if head.isEnd { endBody() } else { awaitMessages() }
    }

    // MARK: incoming messages

    func receive(_ bytes: Span<UInt8>) -> (refusal: Refusal?, keepsWindow: Bool) {
        if state != .ended { messages.append(bytes) }
        guard state == .deciding, exchange?.intake.holdsClientBack() == true else {
            return (nil, false)
        }
        keptByteCount += bytes.count
        return (nil, true)
    }

    func bodyWasTaken(_ refusal: Refusal?) {
        do throws(GRPCStatus) {
            while state != .ended, let message = try messages.next() { try take(message) }
        } catch {
            fail(error)
        }
        awaitMessages()
    }

    private func take(_ message: [UInt8]) throws(GRPCStatus) {
        guard service == .check else { return try process(message) }
        guard question == nil else {
            throw GRPCStatus(.invalidArgument, "a Check has one message")
        }
        question = message
    }

    func receiveTrailers(_ bytes: [UInt8], isTooLarge: Bool) {
        fail(GRPCStatus(.invalidArgument, "a call has no trailers"))
    }

    func endBody() {
        isClientEnded = true
        guard state != .ended else { return }
        // Nothing more is expected of Envoy, except that it takes the body back.
        if state != .relaying { deadline.clear() }
        guard !messages.hasPart else {
            return fail(GRPCStatus(.invalidArgument, "the last message is incomplete"))
        }
        if service == .check, let question {
            do throws(QuestionFault) {
                try check(question)
            } catch {
                fail(GRPCStatus(.invalidArgument, error.explanation.description))
            }
        } else if state == .allowed {
            end()
        } else if state != .relaying {
            fail(GRPCStatus(.invalidArgument, "the call ended before its request"))
        }
    }

    func clientEnded() {
        guard session.isOpen(id) else { return }
        if isClientEnded, exchange?.intake.endsWithClient != true { return }
        lose()
    }

    /// Bounds the wait for more of the described request.
    private func awaitMessages() {
        guard !isClientEnded else { return deadline.clear() }
        switch state {
        case .asking: deadline.set(afterNanoseconds: services.site.timeouts.requestBody)
        case .deciding:
            guard let exchange, !exchange.intake.isComplete,
                let patience = exchange.intake.bodyPatience
            else { return deadline.clear() }
            deadline.set(afterNanoseconds: patience)
        case .relaying, .ended: break
        // Envoy waits for the upstream's answer itself.
        case .allowed: deadline.clear()
        }
    }

    // MARK: a Check

    private func check(_ message: [UInt8]) throws(QuestionFault) {
        let question = try EnvoyCheck.read(message.span)
        ask(question.asked, isWhole: question.body.isEmpty)
        guard !question.body.isEmpty, let exchange, exchange.phase == .digestBody else { return }
        if let refusal = exchange.intake.receiveBody(message.span.extracting(question.body)) {
            exchange.refuse(refusal)
        } else {
            exchange.intake.endBody()
        }
    }

    // MARK: a Process

    private func process(_ message: [UInt8]) throws(GRPCStatus) {
        let event: EnvoyProcessing.Event
        do throws(QuestionFault) {
            event = try EnvoyProcessing.read(message.span)
        } catch {
            throw GRPCStatus(.invalidArgument, error.explanation.description)
        }
        switch event {
        case .requestHead(let asked, let mode, let isEnd) where state == .asking:
            guard mode != .other else {
                throw GRPCStatus(
                    .failedPrecondition, "request_body_mode must be FULL_DUPLEX_STREAMED or NONE")
            }
            answer.hasBody = !isEnd && mode == .fullDuplex
            ask(asked, isWhole: !answer.hasBody)
        case .requestBody(let range, let isEnd) where state == .deciding && answer.hasBody:
            guard let exchange, !exchange.intake.isComplete else { throw Self.outOfPlace }
            if let refusal = exchange.intake.receiveBody(message.span.extracting(range)) {
                exchange.refuse(refusal)
            } else if isEnd {
                exchange.intake.endBody()
            }
        case .requestTrailers(let fields) where state == .deciding && answer.hasBody:
            guard let exchange, !exchange.intake.isComplete else { throw Self.outOfPlace }
            let names = services.site.fieldNames
            answer.trailersRemoved = fields.map(\.name).filter { !names.mayTrail($0.span) }
            exchange.intake.endBody()
        case .responseHead(let status, let fields) where state == .allowed || state == .relaying:
            tellResponse(status, fields)
        case .responseHead(let status, let fields) where state == .asking || state == .deciding:
            try passLocal(status, fields)
        default: throw Self.outOfPlace
        }
    }

    /// Passes an answer that Envoy made itself, to a request that it refused before it showed it,
    /// or before all of it had come. No part of that request has gone on.
    private func passLocal(
        _ status: UInt16, _ fields: [AskedRequest.Field]
    ) throws(GRPCStatus) {
        guard !EnvoyProcessing.isOfUpstream(fields) else {
            throw GRPCStatus(
                .failedPrecondition,
                "the upstream has answered a request that was not shown or not allowed yet: "
                    + "request_header_mode must be SEND")
        }
        tellResponse(status, fields)
        end()
        loseExchange()
    }

    private static var outOfPlace: GRPCStatus {
        GRPCStatus(.invalidArgument, "this message may not come now")
    }

    // MARK: the request in question

    /// Begins the exchange of the request, which is answered in this call.
    private func ask(_ asked: AskedRequest, isWhole: Bool) {
        state = .deciding
        let exchange = connection.beginExchange()
        exchange.downstream = self
        exchange.intake.beginBody(at: exchange.arrival.startedAt, isComplete: isWhole)
        self.exchange = exchange
        do throws(Refusal) {
            try exchange.checkCall.become(asked, answered: .inMessages)
            answer.asksForPage =
                exchange.intake.head.methodKind == .get || exchange.intake.head.methodKind == .head
            exchange.advance()
        } catch {
            exchange.intake.refuseHead(error)
        }
    }

    // MARK: the end of the call

    /// Fails the call, for a fault of its own or of the gateway.
    func fail(_ status: GRPCStatus) {
        guard state != .ended else { return }
        let isAsking = state == .asking
        state = .ended
        services.log.repeatedEvent("check_call_failed", status.message)
        if isAsking {
            connection.recordFault(
                Refusal(
                    status.code == .permissionDenied ? .notFound : .badRequest,
                    status.code == .permissionDenied ? .checkPeer : .checkCall))
        } else if let exchange {
            exchange.refuse(Refusal(.badRequest, .checkCall))
        }
        finish(status)
    }

    private func refuseType() {
        state = .ended
        session.fields.append(":status", decimal: 415)
        session.submitHead(stream: id, hasContent: false)
        connection.recordFault(Refusal(.badRequest, .checkCall))
        connection.scheduleFlush()
    }

    /// The exchange was answered: nothing more follows in either direction.
    func wasAnswered() {
        if isClientEnded, state == .allowed { end() }
    }

    func answeredEarly() {
        isAnsweredEarly = true
        deadline.set(afterNanoseconds: Lingering.timeout.wholeNanoseconds)
    }

    func close() {
        state = .ended
        deadline.clear()
        answer = EnvoyAnswer()
        loseExchange()
    }

    /// Leaves the request, because its client does not wait for it.
    private func loseExchange() {
        guard let lost = exchange else { return }
        exchange = nil
        if lost.number != 0 { lost.downstreamIsLost() }
    }
}

extension EnvoyCall: DeadlineHandler {
    func deadlineExpired() {
        if isAnsweredEarly {
            session.stopRequest(stream: id)
            connection.scheduleFlush()
        } else if state == .deciding {
            exchange?.refuse(Refusal(.requestTimeout))
        } else {
            // Envoy does not take the body, or does not describe its request.
            fail(GRPCStatus(.unavailable, "the time for the call is over"))
        }
    }
}
