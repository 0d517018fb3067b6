import Bytes
import EventLoop
import Judgement
import Settings
import TLS

/// Writes answers to the kernel, and bounds the time for which a client may take nothing of them.
extension HTTP1Connection {
    func descriptorIsWritable() {
        guard state != .closed else { return }
        flush()
        guard output.isEmpty, state != .closed else { return }
        resumeUpstream()
        rest()
        // The next request may have begun, or may already be in the input.
        if state == .idle || state == .readingHead, !hasClientEnded { transport?.enableReading() }
        process()
    }

    /// Writes the bytes that wait. The rest is written when the client takes it.
    func flush() {
        guard !isBroken else { return lose() }
        guard let transport else { return }
        var hasProgress = false
        while !output.isEmpty {
            switch transport.write(output.readable) {
            case .bytes(let count):
                output.consume(count)
                heldPace?.pace.wrote(count)
                hasProgress = true
            case .wouldBlock: return awaitClient(hasProgress: hasProgress)
            case .failed: return lose()
            }
        }
        clientTookAll()
        if state == .finishing {
            linger()
        } else if isTunnelOutputEnding {
            isTunnelOutputEnding = false
            transport.shutdownWrite()
        }
    }

    /// Writes `bytes` after those that wait, without copying those that the kernel takes at once.
    func writeThrough(_ bytes: Span<UInt8>) -> Bool {
        guard let transport, !isBroken else { return true }
        // Over TLS the flush that follows makes records of all bytes together.
        if bytes.count < Self.copyByteCountMax || transport.isWriting || !transport.canGather {
            output.append(bytes)
        } else {
            let waiting = output.count
            switch transport.write(output.readable, bytes) {
            case .bytes(let count):
                output.consume(min(count, waiting))
                heldPace?.pace.wrote(count)
                output.append(bytes.extracting(max(0, count - waiting)..<bytes.count))
            case .wouldBlock: output.append(bytes)
            case .failed:
                // The caller still holds a view into the upstream's buffer, so the loss is reported
                // when it flushes.
                isBroken = true
                return true
            }
            if !output.isEmpty { awaitClient(hasProgress: true) }
        }
        return keepsUp()
    }

    /// Has the kernel pass on the upstream's bytes, if none wait and the body needs no framing.
    func relayBody(from upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? {
        guard let transport, output.isEmpty, !transport.isWriting, !isBroken,
            !responseFraming.isChunked,
            let move = worker.answerPipe.move(
                from: upstream, to: transport, atMost: byteCountMax, rest: &output)
        else { return nil }
        isBroken = move.isTargetLost
        if !output.isEmpty { awaitClient(hasProgress: true) }
        return RelayedPiece(read: move.read, isReady: keepsUp())
    }

    /// True if the client takes the bytes as they come.
    private func keepsUp() -> Bool {
        isUpstreamPaused = isOutputFull
        return !isUpstreamPaused
    }

    /// Waits for the client to take something first. Its time runs from the moment when its kernel
    /// last did: more bytes from the upstream do not give it more time.
    private func awaitClient(hasProgress: Bool) {
        guard let transport, hasProgress || !transport.isWriting else { return }
        transport.enableWriting()
        let queued = transport.queuedByteCount
        let held = heldPace ?? HeldPace(since: services.loop.now, queued: queued)
        heldPace = held
        deadline.set(afterNanoseconds: held.rest(services, queued: queued))
    }

    /// Checks a client for which bytes have waited long.
    func checkClient(_ transport: Transport) {
        guard let heldPace else { return }
        guard heldPace.rest(services, queued: transport.queuedByteCount, isDue: true) > 0 else {
            exchange?.judge.note(.check(.slowReader))
            return lose()
        }
        deadline.set(at: heldPace.pace.due)
    }

    /// Nothing waits for the client any more: its time for the rest of a request starts.
    private func clientTookAll() {
        guard let transport, transport.isWriting else { return }
        transport.disableWriting()
        heldPace = nil
        switch state {
        case .readingHead: setDeadline(services.site.timeouts.requestHead)
        case .exchanging where !bodyReader.isComplete: setBodyDeadline()
        default: break
        }
    }
}
