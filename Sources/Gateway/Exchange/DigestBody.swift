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
        let limits = site.settings.limits
        guard bytes.count <= bodyByteCountMax - body.byteCount else {
            return Refusal(
                .bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        intake.hash?.update(bytes)
        intake.scan?.feed(bytes)
        do throws(IOError) {
            try body.append(
                bytes,
                memoryByteCountMax: bodyMemoryByteCountMax,
                directory: limits.temporaryDirectory,
                descriptorMax: worker.hub.descriptors.requestMax)
        } catch {
            worker.log.repeatedEvent("body_file_failed", error.description)
            return Refusal(.gatewayBusy, .bodyFile)
        }
        return nil
    }

    /// Gives the whole body to `use`, read back where it lies in a file: for what must be parsed,
    /// and is bounded by the longest body that the request may have.
    func withWholeBody<Value>(_ use: (Span<UInt8>) -> Value) throws(Refusal) -> Value {
        guard !body.isInMemory else { return body.withMemory { memory in use(memory) } }
        var text = ByteBuffer(capacity: body.byteCount)
        do throws(IOError) {
            while text.count < body.byteCount {
                let rest = body.byteCount - text.count
                guard try body.read(at: text.count, into: &text, atMost: rest) > 0 else { break }
            }
        } catch {
            worker.log.repeatedEvent("body_file_failed", error.description)
            throw Refusal(.gatewayBusy, .bodyFile)
        }
        return use(text.readable)
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
