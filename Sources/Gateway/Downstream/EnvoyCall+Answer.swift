import Bytes
import EventLoop
import HTTP
import HTTP2
import Judgement
import Questions
import Settings
import TLS

/// The answer to Envoy in a call.
struct EnvoyAnswer: ~Copyable {
    var isHeadSent = false
    /// True if the body comes in pieces, and goes back in pieces.
    var hasBody = false
    /// The verified body, with the number of bytes that have gone back.
    var body = HeldBody()
    var byteCount = 0
    /// The names of trailers that the upstream must not get; nil if there are no trailers.
    var trailersRemoved: [[UInt8]]?
    /// Headers for the client, which go with the upstream's answer.
    var told: [EnvoyHeader] = []
    /// True if a cache may keep the answer to the request and give it out without asking.
    var asksForPage = false
}

extension EnvoyCall: ResponseSink {
    var peerText: String { connection.peerText }
    var transport: Transport? { connection.transport }

    func respond(_ response: LocalResponse) {
        guard let exchange, state == .deciding else { return }
        let told = exchange.checkCall.toldFields(of: response)
        guard exchange.checkCall.question?.isAllowed == true else {
            state = .ended
            send(
                service == .check
                    ? EnvoyCheck.denying(
                        status: response.status, headers: told, body: response.body)
                    : EnvoyProcessing.immediate(
                        status: response.status, headers: told, body: response.body))
            return finish(GRPCStatus(.ok))
        }
        let removed = exchange.checkCall.namesForEnvoyToRemove(
            besides: response.verdict.map(\.name))
        let ours = told.filter { Self.isOurs($0.name) }
        if service == .check {
            state = .ended
            send(EnvoyCheck.allowing(set: response.verdict, removed: removed, told: ours))
            return finish(GRPCStatus(.ok))
        }
        answer.told = ours
        send(EnvoyProcessing.requestHead(set: response.verdict, removed: removed))
        state = answer.hasBody ? .relaying : .allowed
    }

    private static func isOurs(_ name: [UInt8]) -> Bool {
        Accountant.isField(name)
            || name.count >= ourPrefix.count
                && ASCII.equalsIgnoringCase(
                    name.span.extracting(first: ourPrefix.count), lowercase: ourPrefix)
    }

    private static let ourPrefix = Array("x-app-attest-".utf8)

    func exchangeEnded() {
        guard let exchange else { return }
        self.exchange = nil
        // The record has been written, so the request is not missing there.
        if state == .relaying {
            answer.body = HeldBody(services.bodies)
            exchange.intake.swapBody(&answer.body)
            answer.body.tell(self)
        }
        connection.worker.giveBack(exchange)
        if state == .relaying { relayBodyBack() }
        wasAnswered()
        connection.scheduleFlush()
    }

    /// Sends as much of the body back as Envoy takes now.
    private func relayBodyBack() {
        while state == .relaying {
            let rest = answer.body.byteCount - answer.byteCount
            if rest == 0, answer.byteCount > 0 || answer.trailersRemoved != nil { break }
            let room = connection.room(for: id)
            guard room > 0 else {
                return deadline.set(afterNanoseconds: services.site.timeouts.send)
            }
            var count = min(room, rest, Self.pieceByteCount)
            if !answer.body.isInMemory {
                count = min(count, answer.body.bytesAtHand(from: answer.byteCount))
                // Envoy has no influence on that wait.
                guard count > 0 else { return deadline.clear() }
            }
            guard let piece = nextPiece(atMost: count) else { return failBody() }
            answer.byteCount += piece.count
            let isLast = answer.byteCount == answer.body.byteCount
            send(
                EnvoyProcessing.requestBody(
                    piece, isEnd: isLast && answer.trailersRemoved == nil))
            if isLast { break }
        }
        if let removed = answer.trailersRemoved {
            send(EnvoyProcessing.requestTrailers(removed: removed))
        }
        answer.body.reset()
        deadline.clear()
        state = .allowed
    }

    private func nextPiece(atMost count: Int) -> [UInt8]? {
        let offset = answer.byteCount
        if answer.body.isInMemory {
            return answer.body.withMemory { $0.extracting(offset..<offset + count).array }
        }
        var piece = ByteBuffer(capacity: count)
        do throws(IOError) {
            let read = try answer.body.read(at: offset, into: &piece, atMost: count)
            return read > 0 ? piece.readable.array : nil
        } catch {
            services.log.repeatedEvent("body_file_failed", error.description)
            return nil
        }
    }

    func failBody() { fail(GRPCStatus(.internal, "the body cannot be read back")) }

    /// The most bytes that Envoy hands to the upstream at once.
    private static let pieceByteCount = 64 * 1024

    /// Adds the client's headers to the upstream's answer, and removes those that only the gateway
    /// may send.
    func tellResponse(_ status: UInt16, _ fields: [AskedRequest.Field]) {
        var words = StorageWords()
        for field in fields { words.take(name: field.name.span, value: field.value.span) }
        var told = answer.told
        switch PersonalFields(words, ofPage: answer.asksForPage, status: status) {
        case .allowed: break
        case .allowedAsPrivate where told.isEmpty: break
        case .allowedAsPrivate:
            told.append((Array("cache-control".utf8), Array("private".utf8)))
        case .withheld: told = []
        }
        let reserved = services.site.fieldNames.reservedInResponses
        let removed = fields.map(\.name).filter { name in
            reserved.contains(name.span)
                && !told.contains { ASCII.equalsIgnoringCase($0.name.span, name.span) }
        }
        send(EnvoyProcessing.responseHead(set: told, removed: removed))
        connection.scheduleFlush()
    }

    // MARK: frames

    private func send(_ message: [UInt8]) {
        if !answer.isHeadSent {
            appendHead()
            session.submitHead(stream: id, hasContent: true)
            answer.isHeadSent = true
        }
        session.append(GRPCMessages.framed(message).span, stream: id)
    }

    private func appendHead() {
        session.fields.append(":status", decimal: 200)
        session.fields.append("content-type", "application/grpc")
    }

    func end() {
        state = .ended
        finish(GRPCStatus(.ok))
    }

    /// Ends the call with a status: in trailers, or in the head if nothing else was sent.
    func finish(_ status: GRPCStatus) {
        deadline.clear()
        if !answer.isHeadSent { appendHead() }
        session.fields.append("grpc-status", decimal: UInt64(status.code.rawValue))
        if !status.message.isEmpty {
            let message = Array(status.message.utf8)
            session.fields.append("grpc-message", message.span)
        }
        if answer.isHeadSent {
            session.endContent(stream: id, hasTrailers: true)
        } else {
            session.submitHead(stream: id, hasContent: false)
        }
        connection.scheduleFlush()
    }

    /// Envoy is the operator's own, and its answers are short.
    func clientIsAwaited() {}

    func clientIsReady() {
        guard state == .relaying else { return }
        relayBodyBack()
        wasAnswered()
        connection.scheduleFlush()
    }

    func lose() {
        abortResponse()
        // Now, not once the reset has gone out: a client that has left may never read again.
        close()
    }

    func abortResponse() {
        state = .ended
        session.reset(stream: id)
        connection.scheduleFlush()
    }

    // MARK: functions that no question needs

    var isContinueOwed: Bool { false }
    func sendContinue() {}

    /// The file of the body can take more.
    func resumeBody() {
        guard keptByteCount > 0 else { return }
        session.giveWindow(stream: id, byteCount: keptByteCount)
        keptByteCount = 0
        connection.scheduleFlush()
    }
    func relayInterim(_ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange) {}
    func relayHead(
        _ head: borrowing ResponseHead, bytes: Span<UInt8>, of exchange: Exchange
    ) -> Bool { false }
    func relayBody(_ bytes: Span<UInt8>) -> Bool { false }
    func room() -> Int { 0 }
    func flushResponse() {}
    func relayTrailers(_ trailers: TrailerSection, of exchange: Exchange) {}
    func endResponse() {}
}

/// Waits for the file of the body that goes back.
extension EnvoyCall: HeldBodyOwner {
    func bodyFileIsReady() { clientIsReady() }

    func bodyFileFailed(_ error: IOError) {
        services.log.repeatedEvent("body_file_failed", error.description)
        failBody()
    }
}
