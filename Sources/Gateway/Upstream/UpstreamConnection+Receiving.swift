import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// Receives an answer: interim ones, the head, and the body piece by piece.
extension UpstreamConnection {
    func descriptorIsReadable() {
        guard let transport else { return }
        if tunnelEnd == .upstream { return checkTunnel() }
        guard !isPaused else {
            if transport.isReading { return stopReading() }
            // The rest of the answer cannot come, so it must not hold anything any longer.
            if !isTunnel, transport.isGone, !mayBeWhole(transport) {
                fail(.broken(description: "reset by the server"))
            }
            return
        }
        let isAnswer = state == .readingBody || sentCount > 0
        let room = isAnswer ? request?.answerRoom() ?? .max : .max
        guard room > 0 else { return pauseReading() }
        guard !relayUnread(transport) else { return }
        let byteCountMax = min(
            room, state == .readingBody ? Self.streamByteCount : Self.readByteCount)
        switch transport.read(into: &input, atMost: byteCountMax) {
        case .bytes(let count):
            guard request != nil else { return close() }
            // Bytes that came before the request was sent answer another request, or none.
            guard state != .awaitingHead || sentCount > 0 else {
                return fail(.broken(description: "an answer before its request"))
            }
            mayHaveMore = count == byteCountMax
            sawAnswer = true
            process()
        case .wouldBlock: break
        case .endOfFile: ended()
        case .failed(let code):
            failOrClose(.broken(description: writeFailure ?? failureText(errno: code)))
        }
    }

    /// Has the kernel pass the next bytes of a long body straight to the client. False if they have
    /// to be read.
    private func relayUnread(_ transport: Transport) -> Bool {
        guard state == .readingBody, !isTunnel, input.isEmpty, let request,
            let missing = bodyReader.remainingByteCount, missing >= Self.unreadByteCountMin
        else { return false }
        for number in 1...Self.unreadPieceCountMax {
            let byteCountMax = min(bodyReader.remainingByteCount ?? 0, Self.streamByteCount)
            guard let piece = request.upstreamSendsBody(by: transport, atMost: byteCountMax) else {
                guard number > 1 else { return false }
                break
            }
            switch piece.read {
            case .bytes(let count):
                bodyReader.skip(count)
                mayHaveMore = count == byteCountMax
            case .wouldBlock: mayHaveMore = false
            case .endOfFile:
                ended()
                return true
            case .failed(let code):
                fail(.broken(description: failureText(errno: code)))
                return true
            }
            if bodyReader.remainingByteCount == 0 {
                complete(request)
                return true
            }
            if !piece.isReady { pauseReading() }
            guard piece.isReady, mayHaveMore else { break }
        }
        if !isPaused { setDeadline(bodyNanoseconds) }
        request.upstreamPaused()
        return true
    }

    /// True if the rest of the answer may have come from a server that is gone.
    private func mayBeWhole(_ transport: Transport) -> Bool {
        let unread = transport.unreadByteCount
        // The head of the answer has not come yet.
        guard state == .readingBody else { return unread > 0 }
        return bodyReader.mayEnd(with: unread)
    }

    private func process() {
        let wasTunnel = isTunnel
        while state == .awaitingHead, !input.isEmpty {
            guard readHead() else { return }
        }
        guard state == .readingBody else { return }
        readBody()
        // Bytes that the client sent before it knew of the tunnel.
        if isTunnel, !wasTunnel { request?.upstreamIsReady() }
    }

    /// Reads the head. False if more must come first, or if the request is over.
    private func readHead() -> Bool {
        guard let request else { return false }
        let outcome = response.parse(
            input.readable, limits: pool.responseHeadLimits,
            requestMethodKind: request.methodKind)
        switch outcome {
        case .incomplete: return false
        case .refused(let refusal):
            fail(.malformed(code: refusal.reason.code.description))
            return false
        case .complete: break
        }
        if response.status == 101 { return beginTunnel(request) }
        if response.status < 200 {
            interimCount += 1
            guard interimCount <= Self.interimCountMax else {
                fail(.malformed(code: "too_many_interim_answers"))
                return false
            }
            request.upstreamSentInterim(response, bytes: input.readable)
            input.consume(response.byteCount)
            response.reset()
            request.upstreamPaused()
            return self.request != nil
        }
        bodyReader.begin(response.framing)
        keptNanoseconds = KeepAlive.usableNanoseconds(response, bytes: input.readable)
        state = .readingBody
        if !isForCheck { pool.serverAnswered(server, startedAt: request.sentAt) }
        guard request.upstreamSentHead(response, bytes: input.readable) else {
            request.refuseLargeHead()
            return false
        }
        input.consume(response.byteCount)
        return true
    }

    private func readBody() {
        guard let request else { return }
        var isReady = true
        loop: while true {
            switch bodyReader.next(input.readable) {
            case .data(let skip, let count):
                input.consume(skip)
                // A later piece may bring the client bytes that an earlier one had to leave.
                isReady = relayBody(count, to: request)
            case .ended(let consumed):
                input.consume(consumed)
                return complete(request)
            case .needsMore(let consumed):
                input.consume(consumed)
                break loop
            case .malformed(let fault):
                return fail(.malformed(code: fault.code.description))
            }
        }
        setDeadline(bodyNanoseconds)
        if !isReady { pauseReading() }
        request.upstreamPaused()
    }

    /// Passes bytes on. False if the client is slow.
    private func relayBody(_ byteCount: Int, to request: any UpstreamRequest) -> Bool {
        // Taken out for the call, during which the connection may end.
        var taken = ByteBuffer()
        swap(&taken, &input)
        let isReady = request.upstreamSentBody(byteCount, outOf: &taken)
        swap(&taken, &input)
        return isReady
    }

    /// Stops reading for now. The descriptor is still watched: most clients take the waiting bytes
    /// before the loop's next turn, and to stop watching and to start again would cost four system
    /// calls.
    private func pauseReading() {
        isPaused = true
        // The client's own send time-out bounds this wait.
        deadline.clear()
        if input.isEmpty { input.release() }
    }

    /// More has come from a server that has to wait: stops watching.
    private func stopReading() {
        // Once our side is shut, as a tunnel's may be, a reset cannot be told from an end.
        if isTunnel { transport?.disableReading() } else { transport?.watchChanges() }
    }

    /// The client is ready for more.
    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        switch state {
        case .awaitingHead: setDeadline(headNanoseconds)
        case .readingBody: setDeadline(bodyNanoseconds)
        case .connecting, .idle, .closed: return
        }
        transport?.enableReading()
    }

    func complete(_ request: any UpstreamRequest) {
        let mayLiveOn =
            !isTunnel && response.keepAlive && keptNanoseconds != 0 && isRequestSent
            && !hasSurplus
        self.request = nil
        keepSession()
        if mayLiveOn {
            input.release()
            pending.release()
            state = .idle
            idleSince = pool.loop.now
            setDeadline(min(pool.timeouts.idle, keptNanoseconds ?? .max))
            pool.giveBack(self)
        } else {
            close()
        }
        request.upstreamEnded(bodyReader.trailers)
    }

    /// True if more came than the answer: the next request on the connection would take it for its
    /// answer.
    private var hasSurplus: Bool {
        guard input.isEmpty else { return true }
        guard mayHaveMore, let transport else { return false }
        if case .wouldBlock = transport.read(into: &input, atMost: 1) { return false }
        return true
    }

    func ended() {
        guard let request else { return close() }
        if isTunnel, tunnelEnd == .none {
            endTunnelOutput(request)
        } else if state == .readingBody, bodyReader.endsAtClose {
            complete(request)
        } else {
            fail(
                .broken(description: writeFailure ?? "closed before the answer was complete"),
                isUnheard: isUnheard)
        }
    }

    /// True if the server ended the connection before it had any byte of the request. With its end
    /// it acknowledges all bytes that had come, and there were none of the request. Bytes that came
    /// later found no reader.
    private var isUnheard: Bool {
        guard state == .awaitingHead, !sawAnswer, let transport else { return false }
        return transport.queuedByteCount >= writtenCount.onWire(of: transport)
    }

    static let readByteCount = 16 * 1024
    /// The bytes of one read: large answers are moved in larger pieces.
    static let streamByteCount = 64 * 1024
    /// The fewest bytes for which passing them by the kernel is worth the effort.
    private static let unreadByteCountMin = 64 * 1024
    /// The pieces that go in one turn of the loop. Then other connections have their turn.
    private static let unreadPieceCountMax = 4
    /// The most interim answers, which all wait for a client that reads slowly.
    static let interimCountMax = 32
}
