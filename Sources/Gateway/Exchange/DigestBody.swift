import Bytes
import Crypto
import EventLoop
import HTTP
import JSON
import Judgement
import Settings

extension Exchange {
    /// Waits for the whole body; its digest is known when this stage ends. A body that goes on as
    /// it comes has none.
    func digestBody() throws(Refusal) -> Step {
        guard !intake.isStreaming else { return .next }
        guard intake.isComplete else {
            downstream?.wantsBody()
            return .wait
        }
        if !body.isInMemory, !body.end() { return .wait }
        if var hash = intake.hash.take() { intake.digest = hash.finish() }
        if let body = arrival.question?.body { try takeWord(for: body) }
        return .next
    }

    /// Takes the next bytes of the body, already without its framing. The caller refuses: it still
    /// holds a view into its input here.
    func receiveBody(_ bytes: Span<UInt8>) -> Refusal? {
        if intake.isStreaming { return receiveStreamed(bytes) }
        if phase == .readHead { return receiveQuestion(bytes) }
        guard phase == .digestBody else { return nil }
        guard bytes.count <= bodyByteCountMax - body.byteCount else {
            return Refusal(
                .bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        intake.hash?.update(bytes)
        intake.scan?.feed(bytes)
        do throws(IOError) {
            try body.append(
                bytes, memoryByteCountMax: heldMemoryByteCountMax,
                directory: site.settings.limits.temporaryDirectory,
                patience: site.timeouts.bodyFile)
        } catch {
            return refusal(of: error)
        }
        if !body.isInMemory { body.tell(self) }
        return nil
    }

    /// The bytes of a held body that stay in memory: all of a body that the gateway reads itself,
    /// because such a body is short.
    private var heldMemoryByteCountMax: Int {
        match.routeIndex == nil ? .max : bodyMemoryByteCountMax
    }

    private func refusal(of error: IOError) -> Refusal {
        worker.log.repeatedEvent("body_file_failed", error.description)
        return Refusal(.gatewayBusy, .bodyFile)
    }

    /// The body has ended; the exchange goes on.
    func endBody(_ trailers: TrailerSection? = nil) {
        intake.isComplete = true
        if let trailers { self.intake.trailers = trailers }
        if intake.isStreaming {
            clientWasHeard()
            upstream?.bodyCame()
        } else if phase == .digestBody || phase == .readHead {
            resume()
        }
    }
}

extension Exchange: HeldBodyOwner {
    func bodyFileIsReady() {
        switch phase {
        case .digestBody where intake.isComplete: resume()
        case .digestBody: if !body.isBehind { letClientGoOn() }
        default: upstream?.bodyCame()
        }
    }

    func bodyFileFailed(_ error: IOError) {
        // Nothing of the upstream's is known to be wrong: it is told nothing but that this ends.
        guard number != 0, phase != .recordAccess else { return }
        refuse(refusal(of: error))
    }
}
