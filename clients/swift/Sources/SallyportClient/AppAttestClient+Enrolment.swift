import DeviceCheck
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension AppAttestClient {
    /// The key that the gateway knows. Callers at the same time share one enrolment, which goes on
    /// if one of them is cancelled.
    func enrolledKey() async throws -> String {
        if let enrolment { return try await enrolment.valueForCaller() }
        let state = try enrolmentState()
        if state.isEnrolled, let keyID = state.keyID { return keyID }
        let task = Task {
            defer { self.enrolment = nil }
            return try await self.enrolNow()
        }
        enrolment = task
        return try await task.valueForCaller()
    }

    /// True if the device cannot attest keys, as far as is known.
    func isUnsupported() throws -> Bool {
        guard service.isSupported else { return true }
        return try enrolmentState().isUnsupported == true && waitsUntil() != nil
    }

    func requireSupport() throws {
        if try isUnsupported() { throw ClientError.unsupported }
    }

    func enrolmentState() throws -> EnrolmentState {
        if let state { return state }
        let loaded = try store.load() ?? EnrolmentState()
        state = loaded
        return loaded
    }

    /// Saves the next state and then takes it. The client never acts on a state that was not saved.
    func keep(_ next: EnrolmentState) throws {
        try store.save(next)
        state = next
    }

    /// Gives up a key that the gateway or the device does not accept any more, unless another
    /// request has done that already. False if another key was given up a short while ago: Apple
    /// counts keys, and the cause must be another one.
    func giveUpKey(_ keyID: String, _ advice: RetryAdvice? = nil) throws -> Bool {
        let now = clock.now()
        var state = try enrolmentState()
        guard state.keyID == keyID else { return true }
        let interval =
            (advice ?? state.advice)?.keyInterval ?? configuration.retries.newKeyInterval
        if let last = state.renewedAt, abs(now.timeIntervalSince(last)) < interval {
            return false
        }
        let kept = state.advice
        state = EnrolmentState()
        state.renewedAt = now
        state.advice = kept
        try keep(state)
        challenges.removeAll()
        session = nil
        return true
    }

    /// Forgets the key and every wait, as if the app had been installed anew. The next request
    /// enrols another key.
    ///
    /// This is for a button that your support may ask users to press, not for the handling of
    /// errors: the client replaces a useless key by itself, and Apple counts the keys of a device.
    ///
    /// - Throws: ``ClientError/keychain(_:)``; nothing is forgotten then.
    public func reset() async throws {
        // An enrolment under way would bring its key back.
        while let enrolment { _ = await enrolment.result }
        var next = EnrolmentState()
        next.renewedAt = clock.now()
        try keep(next)
        unsaved = nil
        challenges.removeAll()
        session = nil
    }

    // MARK: steps

    private func enrolNow() async throws -> String {
        if let until = try waitsUntil() { throw ClientError.tryLater(until) }
        do {
            let keyID = try await takeSteps()
            unsaved = nil
            return keyID
        } catch let error as Unsaved {
            delayUnsaved()
            throw error.cause
        }
    }

    /// A state could not be saved.
    private struct Unsaved: Error { let cause: any Error }

    private func keepStep(_ next: EnrolmentState) throws {
        do { try keep(next) } catch { throw Unsaved(cause: error) }
    }

    /// Begins a wait. Without it, each request would make a key that no launch knows.
    private func delayUnsaved() {
        let count = (unsaved?.count ?? 0) + 1
        let length = configuration.retries.wait(
            afterFailures: count, retryAfter: nil, limit: configuration.retries.enrolmentWaitMax,
            advice: nil, chance: clock.chance())
        unsaved = (count, EnrolmentState.Wait(from: clock.now(), length: length))
    }

    private func takeSteps() async throws -> String {
        var state = try enrolmentState()
        while true {
            do {
                let (next, advice) = try await step(from: state.stage)
                state.stage = next
                if let advice { state.advice = advice }
                if case .enrolled(let keyID) = next {
                    state.failureCount = 0
                    state.uselessKeyCount = nil
                    state.unknownFailureCount = nil
                    state.wait = nil
                    state.isUnsupported = nil
                    try keepStep(state)
                    return keyID
                }
                try keepStep(state)
            } catch let error as Unsaved {
                throw error
            } catch {
                let remedy = remedy(for: error, state)
                note(state.stage.phase(of: error), error, attempt: state.failureCount + 1)
                if case .newKey = remedy, state.uselessKeyCount == nil {
                    state.dropUselessKey()
                    try keepStep(state)
                } else {
                    let error = try failed(&state, error, remedy)
                    // No other request may come before the end of the wait.
                    await tellFailure()
                    throw error
                }
            }
        }
    }

    /// Returns the stage after `stage`, and the gateway's advice about failures on the way.
    private func step(
        from stage: EnrolmentState.Stage
    ) async throws -> (EnrolmentState.Stage, RetryAdvice?) {
        switch stage {
        case .none:
            return (.made(keyID: try await service.generateKey()), nil)
        case .made(let keyID):
            var query = [("key_id", keyID.urlSafe)]
            if let name = configuration.installation { query.append(("installation", name)) }
            let answer = try await challenge(at: "attest/challenge", query)
            return (.challenged(keyID: keyID, challenge: answer.challenge), answer.retry)
        case .challenged(let keyID, let challenge):
            let attestation = try await service.attestKey(
                keyID, clientDataHash: ClientData.hash(Data(challenge.utf8)))
            return (
                .attested(keyID: keyID, challenge: challenge, attestation: attestation), nil
            )
        case .attested(let keyID, let challenge, let attestation):
            try await verify(
                [
                    "key_id": keyID, "challenge": challenge,
                    "attestation": attestation.base64EncodedString(),
                ])
            return (.enrolled(keyID: keyID), nil)
        case .enrolled: return (stage, nil)
        }
    }

    /// The part of the answer to an enrolment that the client keeps. A gateway of an earlier
    /// version gives no ticket.
    private struct Attested: Decodable {
        let installation: String?
    }

    private func verify(_ members: [String: String]) async throws {
        var members = members
        // Without its ticket, the app is another installation; it works all the same.
        members["installation"] = try? tickets?.load()
        var request = URLRequest(url: configuration.gateway.appendingPathComponent("attest/verify"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let body = RequestBody.data(try JSONEncoder().encode(members))
        var attempt = 1
        while true {
            if configuration.sendsDeviceToken, deviceTokens.isSupported {
                let token = try await deviceTokens.generateToken()
                request.setValue(
                    token.base64EncodedString(), forHTTPHeaderField: HeaderName.deviceToken)
            }
            let (data, response) = try await transmit(request, body)
            keepChallenge(of: response)
            if response.statusCode == 200 {
                let attested = try? JSONDecoder().decode(Attested.self, from: data)
                if let ticket = attested?.installation { try? tickets?.save(ticket) }
                return
            }
            guard let refusal = Refusal(data, response) else {
                throw ClientError.unexpectedAnswer(status: response.statusCode)
            }
            // Only the token was refused: the attestation and its challenge are still good.
            guard refusal.code == "device_token_invalid", attempt < 2 else {
                throw ClientError.refused(refusal)
            }
            attempt += 1
        }
    }

    // MARK: failures

    /// The time before which nothing may be tried. If the clock was set back since the wait began,
    /// it is not known how much of the wait is over, so it begins anew: once, and never for longer
    /// than it was.
    private func waitsUntil() throws -> Date? {
        let now = clock.now()
        if let wait = unsaved?.wait, wait.until > now,
            now.addingTimeInterval(wait.length) >= wait.until
        {
            return wait.until
        }
        var state = try enrolmentState()
        guard let wait = state.wait, wait.until > now else { return nil }
        let anew = EnrolmentState.Wait(from: now, length: wait.length)
        guard anew.until < wait.until else { return wait.until }
        state.wait = anew
        try keep(state)
        return anew.until
    }

    private enum Remedy {
        /// The key is useless.
        case newKey
        /// The state is kept, and tried again after a while.
        case wait(retryAfter: TimeInterval?, limit: TimeInterval)
        /// Nothing that the client does can change it.
        case giveUp
    }

    /// The number of unknown failures of the device after which its key is given up.
    private static let unknownFailureMax = 3

    private func remedy(for error: any Error, _ state: EnrolmentState) -> Remedy {
        let retries = configuration.retries
        let later = Remedy.wait(retryAfter: nil, limit: retries.enrolmentWaitMax)
        switch error {
        case let error as DCError:
            switch error.code {
            // Apple wants the same key and the same hash again.
            case .serverUnavailable: return later
            case .invalidKey, .invalidInput: return .newKey
            case .featureUnsupported: return .giveUp
            default:
                let count = state.unknownFailureCount ?? 0
                return count >= Self.unknownFailureMax ? .newKey : later
            }
        case ClientError.refused(let refusal):
            switch refusal.action {
            case .retryLater:
                return .wait(retryAfter: refusal.retryAfter, limit: retries.enrolmentWaitMax)
            case .attestAgain, .fetchChallenge, .signAgain:
                return refusal.code == "device_token_invalid" ? later : .newKey
            case .updateApp, .none: return .giveUp
            }
        case ClientError.unexpectedAnswer: return later
        case is ClientError, is CancellationError: return .giveUp
        // Being offline is no reason for a long wait.
        default: return .wait(retryAfter: nil, limit: retries.waitMax)
        }
    }

    /// Notes a failure and the end of the wait. Returns the error to throw.
    private func failed(
        _ state: inout EnrolmentState, _ error: any Error, _ remedy: Remedy
    ) throws -> any Error {
        let retries = configuration.retries
        let now = clock.now()
        let advice = advice(for: error) ?? (error is DCError ? state.advice : nil)
        state.failureCount += 1
        let isUnsupported = (error as? DCError)?.code == .featureUnsupported
        state.isUnsupported = isUnsupported ? true : nil
        // Without a key there is none to give up.
        if (error as? DCError)?.isUnknown == true, state.keyID != nil {
            state.unknownFailureCount = (state.unknownFailureCount ?? 0) + 1
        }
        switch remedy {
        case .wait(let retryAfter, let limit):
            let wait = retries.wait(
                afterFailures: state.failureCount, retryAfter: retryAfter, limit: limit,
                advice: advice, chance: clock.chance())
            state.wait = .init(from: now, length: wait)
        case .newKey:
            // Another new key right away would fail in the same way.
            state.dropUselessKey()
            state.wait = .init(
                from: now,
                length: retries.keyWait(
                    afterUselessKeys: state.uselessKeyCount ?? 0, advice: advice ?? state.advice))
        case .giveUp:
            switch error {
            case ClientError.refused:
                state.wait = .init(
                    from: now, length: advice?.first ?? retries.enrolmentWaitMax)
            // Asking again at each request would only cost time.
            case is DCError: state.wait = .init(from: now, length: retries.enrolmentWaitMax)
            default: break
            }
        }
        try keepStep(state)
        return isUnsupported ? ClientError.unsupported : error
    }

    private func advice(for error: any Error) -> RetryAdvice? {
        if case ClientError.refused(let refusal) = error { refusal.retry } else { nil }
    }
}

extension DCError {
    /// True if neither the key nor the device nor Apple's servers are known to be the cause.
    fileprivate var isUnknown: Bool {
        ![.serverUnavailable, .invalidKey, .invalidInput, .featureUnsupported].contains(code)
    }
}

extension EnrolmentState.Stage {
    /// The step that was tried at this stage when `error` came.
    fileprivate func phase(of error: any Error) -> FailureReport.Phase {
        switch self {
        case .none: .key
        case .made: .challenge
        case .challenged: .attest
        case .attested: error is DCError ? .token : .verify
        case .enrolled: .request
        }
    }
}
