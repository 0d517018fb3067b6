import AppleServices
import Attestation
import Background
import Bytes
import Crypto
import HTTP
import HTTPSClient
import JSON
import Judgement
import KeyStore
import Settings

/// `POST /device-check/query`, `/update` and `/validate`: Apple's two bits, by the names that the
/// configuration gives them. Only with the secret.
extension AdminDesk {
    /// A token of DeviceCheck and a few words.
    static let deviceActionByteCountMax = 16 * 1024

    /// Answers nothing and reads no body until the secret was shown.
    func begin(_ action: DeviceAction) throws(Refusal) -> Step {
        guard let settings = site.settings.deviceCheck, let secret = settings.adminSecret else {
            throw Refusal(.notFound, .deviceCheckPath)
        }
        guard isAuthorized(by: secret) else {
            judge.answer()
            var response = deviceError(401, "unauthorized")
            response.fields.append(("WWW-Authenticate", Array("Bearer".utf8)))
            return exchange.answer(response)
        }
        state.inquiry = DeviceInquiry(action: action)
        guard head.methodKind == .post else {
            throw Refusal(.methodNotAllowed, .admin, explanation: Self.otherMethods)
        }
        return .next
    }

    /// The SHA-256 of the token in the only `Authorization` field; nil if there is none, more than
    /// one, or another scheme than `Bearer`, in any case (RFC 9110 section 11.1).
    var shownBearerDigest: Bytes32? {
        guard let value = soleAuthorization else { return nil }
        let bytes = headBytes.span
        let shown = bytes.extracting(value)
        let scheme = Array("bearer ".utf8)
        guard shown.count > scheme.count,
            ASCII.equalsIgnoringCase(shown.extracting(0..<scheme.count), lowercase: scheme)
        else { return nil }
        return SHA256.hash(shown.extracting(scheme.count...))
    }

    /// The value of the only `Authorization` field; nil if there is none, or more than one.
    private var soleAuthorization: Range32? {
        let bytes = headBytes.span
        let name = Array("authorization".utf8)
        var found: Range32?
        for field in head.fields
        where ASCII.equalsIgnoringCase(bytes.extracting(field.name), lowercase: name) {
            guard found == nil else { return nil }
            found = field.value
        }
        return found
    }

    private func isAuthorized(by secret: Secret) -> Bool {
        guard let shown = shownBearerDigest else { return false }
        return ConstantTime.equals(shown, SHA256.hash(secret.bytes))
    }

    /// The body has come: asks Apple. If the question names a key, the registry must know the key
    /// first, because the answer could not be kept otherwise.
    func readInquiry() throws(Refusal) -> Step {
        judge.answer()
        guard let inquiry, let settings = site.settings.deviceCheck else {
            throw Refusal(.notFound, .deviceCheckPath)
        }
        let limit = intake.bodyByteCountMax
        let body = intake.state.body.withMemory { json in
            try? JSONValue.parse(json, byteCountMax: limit, depthMax: 4)
        }
        let order: DeviceOrder
        do throws(DeviceOrder.Fault) {
            order = try DeviceOrder(body, of: inquiry.action, settings)
        } catch {
            return exchange.answer(deviceError(400, "bad_request", error.text))
        }
        state.inquiry?.order = order
        guard let keyID = order.keyID else { return try ask(order) }
        try services.lookUpKey(for: exchange, keyID, as: .inquiredKey)
        return .wait
    }

    /// The registry has told whether it knows the key.
    func askAboutInquiredDevice() throws(Refusal) -> Step {
        guard let order = state.inquiry?.order else { throw Refusal(.internalFailure, .endpoint) }
        guard let key = prover.known.key, key.status != .erased else {
            return exchange.answer(
                deviceError(404, "key_unknown", "the key is not enrolled: Apple was not asked"))
        }
        return try ask(order)
    }

    private func ask(_ order: DeviceOrder) throws(Refusal) -> Step {
        try services.ask(order.kind, order.token, for: exchange)
        return .wait
    }

    /// Apple has answered.
    func deviceReplied(_ reply: DeviceReply) {
        if case .judged(let verdict) = reply { return prover.deviceWasJudged(verdict) }
        services.meter.resumed(exchange.phase)
        if case .changed = reply { noteDeviceUpdate() }
        guard let keyID = state.inquiry?.order?.keyID, let bits = reply.bits else {
            return end(reply)
        }
        state.inquiry?.reply = reply
        do throws(Refusal) {
            try services.keep(bits, of: keyID, for: exchange)
        } catch {
            registryFailed()
        }
    }

    /// Writes the update to the audit log. Apple has changed its bits, so the entry is made
    /// whatever happens next.
    private func noteDeviceUpdate() {
        guard let order = state.inquiry?.order, case .change(let bit0, let bit1, _) = order.kind,
            let names = site.settings.deviceCheck?.bitNames,
            let access = services.hub.administration
        else { return }
        let changes = zip(names, [bit0, bit1]).compactMap { name, bit in
            bit.map { "\(name): \($0)" }
        }
        let note = AuditNote(
            .updateDeviceBits, order.keyID?.base64 ?? "", outcome: "done",
            detail: changes.joined(separator: ", "))
        let author = AuditAuthor(
            way: .api, name: "device_check.admin_secret_file", origin: exchange.peerText,
            requestID: exchange.requestIDText)
        services.note(
            job(.note(note), by: author, access).run)
    }

    /// The registry has kept the bits, after its commit, or has failed to.
    func bitsWereKept(_ result: Result<Bool, StoreError>) {
        switch result {
        case .success(true):
            if let reply = state.inquiry?.reply { end(reply) }
        case .success(false):
            end(deviceError(404, "key_unknown", "Apple answered, but the key was erased meanwhile"))
        case .failure(let error):
            services.log.repeatedEvent("registry_failed", error.description)
            registryFailed()
        }
    }

    /// The registry does not answer, or not in time.
    func registryFailed() {
        let isApplesDone = state.inquiry?.reply != nil
        end(
            deviceError(
                503, "store_unavailable",
                isApplesDone
                    ? "Apple answered, but the answer may not have been stored with the key: "
                        + "send it again"
                    : "the registry does not answer: Apple was not asked"))
    }

    private func end(_ reply: DeviceReply) {
        guard let inquiry, let settings = site.settings.deviceCheck else { return }
        end(response(to: inquiry.action, reply, settings))
    }

    private func end(_ response: LocalResponse) {
        _ = exchange.answer(response)
        exchange.phase = .recordAccess
        exchange.advance()
    }

    private func response(
        to action: DeviceAction, _ reply: DeviceReply, _ settings: DeviceCheckSettings
    ) -> LocalResponse {
        switch reply {
        case .changed(let bits), .answered(.bits(let bits)):
            deviceBits(bits, isEverSet: true, settings)
        case .answered(.neverSet):
            deviceBits(DeviceCheck.Bits(bit0: false, bit1: false), isEverSet: false, settings)
        case .answered(.done): deviceJSON(200) { $0.member("valid", bool: true) }
        case .answered(.badToken(let text)):
            action == .validate
                ? deviceJSON(200) { $0.member("valid", bool: false) }
                : deviceError(400, "bad_token", text)
        case .answered(.badRequest(let text)): deviceError(502, "bad_request", text)
        case .answered(.failed(let failure)): deviceFailure(failure)
        case .refused(let label): deviceError(503, label)
        case .judged: deviceError(500, "internal")
        }
    }

    private func deviceFailure(_ failure: AppleFailure) -> LocalResponse {
        let status: UInt16 =
            switch failure {
            case .throttled, .noKey, .unanswered(.tooManyInFlight): 503
            case .unanswered(.timedOut): 504
            default: 502
            }
        var response = deviceError(status, failure.label, failure.description)
        if let duration = failure.retryAfter {
            let seconds = "\(duration.components.seconds)"
            response.fields.append(("Retry-After", Array(seconds.utf8)))
        }
        return response
    }

    private func deviceBits(
        _ bits: DeviceCheck.Bits, isEverSet: Bool, _ settings: DeviceCheckSettings
    ) -> LocalResponse {
        deviceJSON(200) { writer in
            writer.member("ever_set", bool: isEverSet)
            writer.beginObject("bits")
            writer.member(named: settings.bitNames[0], value: .bool(bits.bit0))
            writer.member(named: settings.bitNames[1], value: .bool(bits.bit1))
            writer.endObject()
            if let month = bits.lastUpdate { writer.member("last_update", string: month) }
        }
    }

    private func deviceError(
        _ status: UInt16, _ label: String, _ text: String? = nil
    ) -> LocalResponse {
        deviceJSON(status) { writer in
            writer.member("error", string: label)
            if let text { writer.member("detail", string: text) }
        }
    }

    private func deviceJSON(
        _ status: UInt16, _ write: (inout JSONWriter) -> Void
    ) -> LocalResponse {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        var response = LocalResponse(
            status: status, contentType: "application/json", body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return response
    }
}
