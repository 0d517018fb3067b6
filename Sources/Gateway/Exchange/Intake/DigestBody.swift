import Bytes
import Crypto
import EventLoop
import HTTP
import JSON
import Judgement
import Policy
import Settings
import Telemetry

extension RequestIntake {
    /// Waits for the whole body. Its digest is known when this stage ends; a streamed body has
    /// none.
    func digestBody() throws(Refusal) -> Step {
        guard !state.isStreaming else { return .next }
        guard state.isComplete else {
            inviteBody()
            return .wait
        }
        if !state.body.isInMemory, !state.body.end() { return .wait }
        if let check = state.bodyRules { try checkBodyRules(check) }
        if var hash = state.hash.take() { state.digest = hash.finish() }
        if let body = checkCall.question?.body { try checkCall.takeWord(for: body) }
        return .next
    }

    /// Takes the next bytes of the body, without their framing. It returns a refusal for the caller
    /// to carry out, since the caller still holds a view into its input.
    func receiveBody(_ bytes: Span<UInt8>) -> Refusal? {
        let state = state
        if state.isStreaming { return receiveStreamed(bytes) }
        if exchange.phase == .readHead { return checkCall.receiveQuestion(bytes) }
        guard exchange.phase == .digestBody else { return nil }
        guard bytes.count <= bodyByteCountMax - state.body.byteCount else {
            return Refusal(
                .bodyTooLarge, explanation: "The body is longer than this route allows.")
        }
        state.hash?.update(bytes)
        state.scan?.scanner.feed(bytes)
        state.bodyRules?.scanner.feed(bytes)
        do throws(IOError) {
            try state.body.append(
                bytes, memoryByteCountMax: heldMemoryByteCountMax,
                directory: site.settings.limits.temporaryDirectory,
                patience: site.timeouts.bodyFile)
        } catch {
            return refusal(of: error)
        }
        if !state.body.isInMemory { state.body.tell(exchange) }
        return nil
    }

    /// The longest body that this request may have, in bytes.
    var bodyByteCountMax: Int {
        let state = state
        if let routeIndex = state.match.routeIndex {
            return site.settings.routes[routeIndex].bodyByteCountMax
        }
        if state.match.endpoint == .attestFailure { return FailureReport.byteCountMax }
        if state.match.endpoint != nil { return site.settings.endpoints.bodyByteCountMax }
        if adminDesk.inquiry != nil { return AdminDesk.deviceActionByteCountMax }
        if adminDesk.administration != nil { return AdminDesk.administrationByteCountMax }
        return site.settings.limits.bodyByteCountMax
    }

    /// How many bytes of a held body stay in memory. A body that the gateway reads itself is short,
    /// and stays there whole.
    private var heldMemoryByteCountMax: Int {
        state.match.routeIndex == nil ? .max : bodyMemoryByteCountMax
    }

    private func refusal(of error: IOError) -> Refusal {
        services.log.repeatedEvent("body_file_failed", error.description)
        return Refusal(.gatewayBusy, .bodyFile)
    }

    /// The body has ended; the exchange goes on.
    func endBody(_ trailers: TrailerSection? = nil) {
        state.isComplete = true
        if let trailers { state.trailers = trailers }
        if state.isStreaming {
            forwarder.clientWasHeard()
            forwarder.upstream?.bodyCame()
        } else if exchange.phase == .digestBody || exchange.phase == .readHead {
            exchange.resume()
        }
    }
}

extension Exchange: HeldBodyOwner {
    func bodyFileIsReady() { intake.bodyFileIsReady() }
    func bodyFileFailed(_ error: IOError) { intake.bodyFileFailed(error) }
}

extension RequestIntake {
    func bodyFileIsReady() {
        switch exchange.phase {
        case .digestBody where isComplete: exchange.resume()
        case .digestBody: if !state.body.isBehind { letClientGoOn() }
        default: forwarder.upstream?.bodyCame()
        }
    }

    func bodyFileFailed(_ error: IOError) {
        // The upstream is not at fault, so it learns only that the request ends.
        guard exchange.number != 0, exchange.phase != .recordAccess else { return }
        exchange.refuse(refusal(of: error))
    }
}
