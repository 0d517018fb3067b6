import Bytes
import EventLoop
import Judgement
import Settings
import TLS

/// Hands answers to the kernel, and bounds how long a client may take nothing of them.
extension HTTP1Connection {
    func descriptorIsWritable() {
        guard state != .closed else { return }
        flush()
        guard output.isEmpty, state != .closed else { return }
        resumeUpstream()
        rest()
        // A next request may have begun, or lie in the input as far as it was read.
        if state == .idle || state == .readingHead, !hasClientEnded { transport?.enableReading() }
        process()
    }

    /// Writes what waits; what does not fit is written when the client takes it.
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

    /// Writes `bytes` after what waits, without copying what the kernel takes at once.
    func writeThrough(_ bytes: Span<UInt8>) -> Bool {
        guard let transport, !isBroken else { return true }
        // Over TLS the flush that follows makes records of the whole.
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
                // The caller still holds a view into the upstream's buffer: the loss is told when
                // it flushes.
                isBroken = true
                return true
            }
            if !output.isEmpty { awaitClient(hasProgress: true) }
        }
        return keepsUp()
    }

    /// Has the kernel hand over what comes from the upstream, where nothing else waits and the body
    /// needs no framing.
    func relayBody(from upstream: Transport, atMost byteCountMax: Int) -> RelayedPiece? {
        guard let transport, output.isEmpty, !transport.isWriting, !isBroken,
            !responseFraming.isChunked,
            let move = worker.exchanges.answerPipe.move(
                from: upstream, to: transport, atMost: byteCountMax, rest: &output)
        else { return nil }
        isBroken = move.isTargetLost
        if !output.isEmpty { awaitClient(hasProgress: true) }
        return RelayedPiece(read: move.read, isReady: keepsUp())
    }

    /// Whether the client takes what comes.
    private func keepsUp() -> Bool {
        isUpstreamPaused = isOutputFull
        return !isUpstreamPaused
    }

    /// The client must take something first. Its time runs from when its kernel last did: more
    /// bytes for it, however many the upstream sends, do not give it more.
    private func awaitClient(hasProgress: Bool) {
        guard let transport, hasProgress || !transport.isWriting else { return }
        transport.enableWriting()
        let queued = transport.queuedByteCount
        let held = heldPace ?? HeldPace(since: worker.loop.now, queued: queued)
        heldPace = held
        deadline?.set(afterNanoseconds: held.rest(worker, queued: queued))
    }

    /// Checks a client for which something has waited long.
    func checkClient(_ transport: Transport) {
        guard let heldPace else { return }
        guard heldPace.rest(worker, queued: transport.queuedByteCount, isDue: true) > 0 else {
            exchange?.judge.note(.check(.slowReader))
            return lose()
        }
        deadline?.set(at: heldPace.pace.due)
    }

    /// Nothing waits for the client; if it has begun a request, its time for the rest starts.
    private func clientTookAll() {
        guard let transport, transport.isWriting else { return }
        transport.disableWriting()
        heldPace = nil
        switch state {
        case .readingHead: setDeadline(worker.site.timeouts.requestHead)
        case .exchanging where !bodyReader.isComplete: setBodyDeadline()
        default: break
        }
    }
}
