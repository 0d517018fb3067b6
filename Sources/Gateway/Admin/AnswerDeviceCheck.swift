import AppAttest
import AppleServices
import Bytes
import Crypto
import HTTP
import HTTPSClient
import JSON
import KeyStore
import Settings

/// What the operator's own services ask of DeviceCheck, on the admin listener.
enum DeviceAction {
    case query
    case update
    case validate

    init?(path: Span<UInt8>) {
        switch String(decoding: path.array, as: UTF8.self) {
        case "/device-check/query": self = .query
        case "/device-check/update": self = .update
        case "/device-check/validate": self = .validate
        default: return nil
        }
    }
}

/// What is asked, and how far that has come.
struct DeviceInquiry {
    let action: DeviceAction
    /// Nil until the body was read.
    var order: DeviceOrder?
    /// Apple's, while the registry keeps what it says.
    var reply: DeviceReply?
}

/// `POST /device-check/query`, `/update` and `/validate`: Apple's two bits, by the names that the
/// configuration gives them. Only for whoever has the secret.
extension Exchange {
    /// A token of DeviceCheck and a few words.
    static let deviceActionByteCountMax = 16 * 1024

    /// Nobody is told anything before the secret was shown, and no body is read.
    func begin(_ action: DeviceAction) throws(Refusal) -> Step {
        guard let settings = site.settings.deviceCheck, let secret = settings.adminSecret else {
            throw Refusal(.notFound, .deviceCheckPath)
        }
        guard isAuthorized(by: secret) else {
            decision = .answered
            var response = deviceError(401, "unauthorized")
            response.fields.append(("WWW-Authenticate", Array("Bearer".utf8)))
            return answer(response)
        }
        inquiry = DeviceInquiry(action: action)
        guard head.methodKind == .post else {
            throw Refusal(.methodNotAllowed, .admin)
        }
        return .next
    }

    private func isAuthorized(by secret: [UInt8]) -> Bool {
        let bytes = headBytes.span
        let name = Array("authorization".utf8)
        var found: Range32?
        for field in head.fields
        where ASCII.equalsIgnoringCase(bytes.extracting(field.name), lowercase: name) {
            guard found == nil else { return false }
            found = field.value
        }
        guard let found else { return false }
        let shown = SHA256.hash(bytes.extracting(found))
        return ConstantTime.equals(shown, SHA256.hash(Array("Bearer ".utf8) + secret))
    }

    /// The body has come: puts its question to Apple. Where it names a key, the registry must know
    /// that first: what would be said of it could not be kept.
    func go(on inquiry: DeviceInquiry) throws(Refusal) -> Step {
        decision = .answered
        guard let settings = site.settings.deviceCheck else {
            throw Refusal(.notFound, .deviceCheckPath)
        }
        if inquiry.order == nil {
            let limit = bodyByteCountMax
            let body = try withWholeBody { json in
                try? JSONValue.parse(json, byteCountMax: limit, depthMax: 4)
            }
            do throws(DeviceOrder.Fault) {
                self.inquiry?.order = try DeviceOrder(body, of: inquiry.action, settings)
            } catch {
                return answer(deviceError(400, "bad_request", error.text))
            }
        }
        guard let order = self.inquiry?.order else { return .next }
        if let keyID = order.keyID {
            guard isKeyLookedUp else {
                try worker.lookUpKey(for: self, keyID)
                return .wait
            }
            guard let key, key.status != .erased else {
                return answer(
                    deviceError(404, "key_unknown", "no such key is enrolled: Apple was not asked"))
            }
        }
        try worker.ask(order.kind, order.token, for: self)
        return .wait
    }

    /// Apple's word has come.
    func deviceReplied(_ reply: DeviceReply) {
        if case .judged(let verdict) = reply {
            device?.verdict = verdict
            return resume()
        }
        guard let keyID = inquiry?.order?.keyID, let bits = reply.bits else { return end(reply) }
        inquiry?.reply = reply
        do throws(Refusal) {
            try worker.keep(bits, of: keyID, for: self)
        } catch {
            registryFailed()
        }
    }

    /// The registry's, after its commit.
    func bitsWereKept(_ result: Result<Bool, StoreError>) {
        switch result {
        case .success(true):
            if let reply = inquiry?.reply { end(reply) }
        case .success(false):
            end(deviceError(404, "key_unknown", "Apple has answered; the key was erased meanwhile"))
        case .failure(let error):
            worker.log.repeatedEvent("registry_failed", error.description)
            registryFailed()
        }
    }

    /// It does not answer, or not in time.
    func registryFailed() {
        let isApplesDone = inquiry?.reply != nil
        end(
            deviceError(
                503, "store_unavailable",
                isApplesDone
                    ? "Apple has answered, but nothing may be kept with the key: send it again"
                    : "the registry does not answer: Apple was not asked"))
    }

    private func end(_ reply: DeviceReply) {
        guard let inquiry, let settings = site.settings.deviceCheck else { return }
        end(response(to: inquiry.action, reply, settings))
    }

    private func end(_ response: LocalResponse) {
        _ = answer(response)
        phase = .recordAccess
        advance()
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

/// The body of such a request, read.
struct DeviceOrder {
    struct Fault: Error {
        let text: String
    }

    let token: String
    let kind: DeviceQuestion.Kind
    /// The key with which Apple's word is to be kept.
    let keyID: KeyID?

    init(
        _ body: JSONValue?, of action: DeviceAction, _ settings: DeviceCheckSettings
    ) throws(Fault) {
        guard let members = body?.objectValue else {
            throw Fault(text: "the body is not one JSON object")
        }
        let known: Set = ["device_token", "environment", "bits", "key_id"]
        guard let bytes = members["device_token"]?.stringValue.flatMap({ Base64.decode($0) }),
            !bytes.isEmpty
        else { throw Fault(text: "device_token is not base64") }
        token = Base64.encode(bytes)
        var environment = settings.environments[0]
        if let member = members["environment"] {
            guard let found = member.stringValue.flatMap(AttestEnvironment.init(rawValue:)) else {
                throw Fault(text: "environment is neither production nor development")
            }
            environment = found
        }
        guard Set(members.keys).isSubset(of: known), action == .update || members["bits"] == nil,
            action != .validate || members["key_id"] == nil
        else { throw Fault(text: "a member that has no meaning here") }
        keyID = try members["key_id"].map { member throws(Fault) in
            guard let keyID = member.stringValue.flatMap({ KeyID(base64: $0) }) else {
                throw Fault(text: "key_id is not base64 of 32 bytes")
            }
            return keyID
        }
        switch action {
        case .query: kind = .ask(.query, environment)
        case .validate: kind = .ask(.validate, environment)
        case .update:
            let bits = try Self.bits(members["bits"], settings)
            kind = .change(bit0: bits[0], bit1: bits[1], environment)
        }
    }

    /// What each of the two shall be; nil for one that is not named.
    private static func bits(
        _ value: JSONValue?, _ settings: DeviceCheckSettings
    ) throws(Fault) -> [Bool?] {
        guard let members = value?.objectValue, !members.isEmpty else {
            throw Fault(text: "bits is not an object that names one of them")
        }
        var bits: [Bool?] = [nil, nil]
        for (name, member) in members {
            guard let index = DeviceCheckSettings.bit(named: name, in: settings.bitNames) else {
                throw Fault(
                    text: "no bit has that name; known: "
                        + settings.bitNames.joined(separator: ", "))
            }
            guard let flag = member.boolValue else {
                throw Fault(text: "a bit is neither true nor false")
            }
            guard bits[index] == nil else { throw Fault(text: "a bit is named twice") }
            bits[index] = flag
        }
        return bits
    }
}
