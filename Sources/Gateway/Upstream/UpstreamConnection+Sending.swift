import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// Sends a request: head and body from the places where the request holds them.
extension UpstreamConnection {
    func send(_ request: any UpstreamRequest) {
        self.request = request
        sawAnswer = false
        isPaused = false
        interimCount = 0
        bodyOffset = 0
        isBodyEnded = false
        sentCount = 0
        writtenCount = WrittenCount()
        writeFailure = nil
        if let connectFailure { return fail(connectFailure) }
        if state != .connecting { begin(request) }
    }

    func begin(_ request: any UpstreamRequest) {
        requestCount += 1
        writtenCount.sealedBefore = transport?.sealedByteCount ?? 0
        state = .awaitingHead
        response.reset()
        setDeadline(request.headNanoseconds(pool.timeouts))
        if !isForCheck { server.meter.countRequest() }
        pool.outbox.add(self)
    }

    var headNanoseconds: UInt64 {
        request?.headNanoseconds(pool.timeouts) ?? pool.timeouts.response
    }

    /// Sends what ``Outbox`` has gathered; the connection may have ended meanwhile. `isQuiet`: a
    /// moment ago the kernel had no bytes from the server, nor its end.
    func sendRequest(isQuiet: Bool) {
        guard
            state == .awaitingHead
                || (state == .readingBody && request?.bodyPlace.isAwaited == true)
        else { return }
        guard isQuiet || idleDescriptor == nil || isStillOpen else {
            return fail(.broken(description: "closed while it was idle"))
        }
        sendMore()
    }

    /// The descriptor, if the connection has served a request before and nothing of this one was
    /// written. The loop may report only after the write what the server has sent, and the
    /// assertion is spent by then.
    var idleDescriptor: Int32? {
        guard sentCount == 0, requestCount > 1, state == .awaitingHead else { return nil }
        return transport?.descriptor
    }

    /// Checks that the server has neither ended the connection nor sent something unasked, as some
    /// servers do before they end it. TLS may have received data that is not an answer.
    private var isStillOpen: Bool {
        guard let transport else { return false }
        var scrap = ByteBuffer(pool: pool.storage)
        if case .wouldBlock = transport.read(into: &scrap, atMost: 1) { return true }
        return false
    }

    func bodyCame() {
        if sentCount > 0 { pool.outbox.addLater(self) }
    }

    /// Writes head and body as far as the kernel takes them.
    func sendMore() {
        guard let transport, let request, writeFailure == nil, sendHead(request, transport)
        else { return }
        switch request.bodyPlace {
        case .head: bodyOffset = request.bodyByteCount
        case .memory: guard sendMemory(request, transport) else { return }
        case .file: guard sendFile(request, transport) else { return }
        case .stream(let isChunked):
            guard sendStreamed(request, transport, isChunked: isChunked) else { return }
        }
        transport.disableWriting()
    }

    /// Sends the bytes of a streamed body that have come, in its framing. False if the kernel takes
    /// no more for now.
    private func sendStreamed(
        _ request: any UpstreamRequest, _ transport: Transport, isChunked: Bool
    ) -> Bool {
        while true {
            if pending.isEmpty {
                guard appendStreamed(request, isChunked: isChunked) else { return false }
                if pending.isEmpty { break }
            }
            guard let count = written(transport.write(pending.readable)) else { return false }
            pending.consume(count)
        }
        guard state == .awaitingHead else { return true }
        // The client's own pauses have their bound.
        if isBodyEnded { setDeadline(headNanoseconds) } else { deadline.clear() }
        return true
    }

    /// Appends the next bytes to `pending`, which is empty, before the client goes on, so that
    /// further bytes of its body come after them. False if the client's next bytes have ended the
    /// request.
    private func appendStreamed(_ request: any UpstreamRequest, isChunked: Bool) -> Bool {
        request.takeStreamed(atMost: Self.sendByteCount) { bytes in
            if isChunked {
                ChunkedEncoder.append(bytes, to: &pending)
            } else {
                pending.append(bytes)
            }
        }
        guard self.request === request, state != .closed else { return false }
        if request.isStreamEnded, !isBodyEnded {
            isBodyEnded = true
            if isChunked { ChunkedEncoder.appendTerminator(to: &pending) }
        }
        return true
    }

    /// Sends the head. A small body follows it in the same write. False if the kernel takes no more
    /// for now.
    private func sendHead(_ request: any UpstreamRequest, _ transport: Transport) -> Bool {
        while sentCount < request.headByteCount {
            let sent = sentCount
            let outcome = request.withHead { transport.write($0.extracting(sent...)) }
            guard let count = written(outcome) else { return false }
            sentCount += count
        }
        return true
    }

    /// Sends a body in memory that did not go with the head.
    private func sendMemory(_ request: any UpstreamRequest, _ transport: Transport) -> Bool {
        while bodyOffset < request.bodyByteCount {
            let offset = bodyOffset
            let outcome = request.withBody { transport.write($0.extracting(offset...)) }
            guard let count = written(outcome) else { return false }
            bodyOffset += count
        }
        return true
    }

    /// Sends a body in a file, piece by piece. False if the kernel takes no more for now, if other
    /// connections have their turn, or if the file has to be waited for.
    private func sendFile(_ request: any UpstreamRequest, _ transport: Transport) -> Bool {
        let end = bodyOffset + Self.turnByteCount
        while true {
            if pending.isEmpty {
                guard bodyOffset < request.bodyByteCount else {
                    if state == .awaitingHead { setDeadline(headNanoseconds) }
                    return true
                }
                guard bodyOffset < end else {
                    awaitRoom()
                    transport.repeatWriting()
                    return false
                }
                let atHand = request.bodyAtHand(from: bodyOffset)
                guard atHand > 0 else {
                    awaitFile()
                    return false
                }
                if let outcome = request.sendBody(
                    from: bodyOffset, to: transport, atMost: min(atHand, end - bodyOffset))
                {
                    guard let count = written(outcome) else { return false }
                    bodyOffset += count
                    continue
                }
                guard readFile(request, atMost: min(atHand, Self.sendByteCount)) else {
                    return false
                }
            }
            guard let count = written(transport.write(pending.readable)) else {
                return false
            }
            pending.consume(count)
        }
    }

    /// Reads the next bytes of a body in a file, which are at hand. False if that has ended the
    /// request.
    private func readFile(_ request: any UpstreamRequest, atMost: Int) -> Bool {
        do throws(IOError) {
            let count = try request.readBody(at: bodyOffset, into: &pending, atMost: atMost)
            guard count > 0 else { throw IOError("body", .notRegular) }
            bodyOffset += count
            return true
        } catch {
            request.bodyFailed(error)
            return false
        }
    }

    /// Waits for the file's next bytes. The server has no influence on that wait.
    private func awaitFile() {
        transport?.disableWriting()
        if state == .awaitingHead { deadline.clear() }
    }

    /// The number of bytes written; nil if no more can be for now, or ever.
    private func written(_ outcome: WriteOutcome) -> Int? {
        switch outcome {
        case .bytes(let count):
            writtenCount.plain += count
            // The rest of an answer that began early may have to wait for the rest of the request.
            if state == .readingBody, !isPaused { setDeadline(bodyNanoseconds) }
            return count
        case .wouldBlock: awaitRoom()
        case .failed(let code):
            // The answer may be waiting all the same, if a server refuses a body early.
            transport?.disableWriting()
            writeFailure = failureText(errno: code)
        }
        return nil
    }

    /// Waits until the kernel takes more.
    private func awaitRoom() {
        transport?.enableWriting()
        if state == .awaitingHead { setDeadline(pool.timeouts.send) }
    }

    var isRequestSent: Bool {
        guard let request else { return true }
        return writeFailure == nil && sentCount >= request.headByteCount
            && pending.isEmpty && bodyOffset >= request.bodyByteCount
            && (isBodyEnded || !request.bodyPlace.isStream)
    }

    static let sendByteCount = 64 * 1024
    /// The most bytes of a file that are sent in one turn of the loop: a reader on the same machine
    /// may take all of a body as fast as it is sent, while all other requests of the worker wait.
    private static let turnByteCount = 1024 * 1024
}
