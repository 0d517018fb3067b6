import AppAttestTesting
import Bytes
import Crypto
import EventLoop
import JSON

/// A gateway that misbehaves on purpose: it stands in front of a real one, lets most requests
/// through, and notes how a client reacts to its faults.
///
/// A client sends one request after another, each with a body that no other has. So a body that
/// comes again is another attempt, and a new body ends the act. Every attempt also goes to the
/// gateway, which alone says if its proof holds, even if the client gets another answer.
final class Trial {
    private let gateway: TrialGateway
    private var waiting: ArraySlice<TrialAct>
    private var act: TrialAct?
    private var record = TrialRecord()
    /// The body of the request that the act is about, and those of earlier acts.
    private var subject: [UInt8]?
    private var earlier: Set<[UInt8]> = []
    private var assertions: Set<String> = []
    private var keyIDs: Set<String> = []
    /// The challenge of the last answer, if the client has not used it yet.
    private var offeredChallenge: String?
    /// The tickets that the client got, oldest first.
    private var tickets: [String] = []
    private var card: TrialCard
    private let now: () -> Int64
    /// Looks at what a client on Android sends; nil in a trial of another.
    private let witness: PhoneWitness?
    /// The target of the redirection, which has no name that a client could know.
    private let elsewhere = "/" + Hex.encode(RandomBytes.bytes(8))
    /// True if any client came.
    private(set) var isReached = false

    /// Called when all acts were played.
    var onEnd: (() -> Void)?

    /// `now`: milliseconds of a clock that is never set.
    init(
        gateway: TrialGateway, platform: LabPlatform, seed: UInt64, now: @escaping () -> Int64
    ) {
        self.gateway = gateway
        self.now = now
        witness = platform == .android ? PhoneWitness() : nil
        card = TrialCard(seed: seed)
        // The seed determines the order of the acts.
        var chance = SplitMix64(state: seed)
        waiting = TrialAct.all(platform, &chance)[...]
        act = waiting.popFirst()
    }

    /// The score card so far. An act that was not played counts as not reached.
    var result: TrialCard {
        var card = card
        card.rows += ([act].compactMap(\.self) + waiting).map {
            TrialCard.Row(act: $0, mistakes: nil)
        }
        return card
    }

    func reply(to request: HTTPRequest) -> StandInReply {
        isReached = true
        let endpoint = request.path.dropFirst(gateway.base.utf8.count)
        watchTickets(request, isEnrolment: endpoint == "attest/verify")
        switch endpoint {
        case "attest/verify": return enrol(request)
        case "assert/token":
            blame(witness?.mistakes(ofRequest: request), .requestOnAndroid)
            return forward(request)
        case "assert/challenge", "attest/challenge", "attest/failure": return forward(request)
        default:
            if request.path == elsewhere {
                record.strayRequestCount += 1
                return StandInReply(status: 204)
            }
            return serve(request)
        }
    }

    // MARK: acts

    private func end(isReached: Bool = true) {
        guard let act else { return }
        card.rows.append(
            TrialCard.Row(act: act, mistakes: isReached ? record.mistakes(act.rules) : nil))
        record = TrialRecord()
        self.act = waiting.popFirst()
    }

    private func enrol(_ request: HTTPRequest) -> StandInReply {
        blame(witness?.mistakes(ofEnrolment: request), .enrolmentOnAndroid)
        let members = try? JSONValue.parse(request.body.span, byteCountMax: 64 * 1024)
        if let keyID = members?["key_id"]?.stringValue, keyIDs.insert(keyID).inserted {
            record.newKeyCount += 1
        }
        if let ticket = tickets.last, members?["installation"]?.stringValue != ticket {
            record.ticketlessCount += 1
        }
        guard act?.place == .enrolment else { return forwardEnrolment(request) }
        let texts = members?["chain"]?.arrayValue ?? [members?["attestation"]].compactMap(\.self)
        let attestation = Array(texts.compactMap(\.stringValue).joined(separator: " ").utf8)
        if let reply = attempt(request, attestation) { return reply }
        // This attempt ends the act, and begins the next.
        end()
        guard act?.place == .enrolment else { return forwardEnrolment(request) }
        return attempt(request, attestation) ?? forwardEnrolment(request)
    }

    /// Notes an attempt to enrol. Returns nil if the act has no answer of its own to it.
    private func attempt(_ request: HTTPRequest, _ attestation: [UInt8]) -> StandInReply? {
        record.attestations.insert(attestation)
        var attempt = TrialRecord.Attempt(milliseconds: now())
        defer { record.attempts.append(attempt) }
        guard let misdeeds = act?.misdeeds, record.attempts.count < misdeeds.count else {
            return nil
        }
        let misdeed = misdeeds[record.attempts.count]
        // A gateway that refuses an enrolment does not keep its key.
        if case .refuse = misdeed { return spoil(misdeed, StandInReply(status: 200), request) }
        let answer = gateway.reply(to: request)
        attempt.refusal = TrialGateway.refusal(in: answer)
        return spoil(misdeed, answer, request)
    }

    private func forwardEnrolment(_ request: HTTPRequest) -> StandInReply {
        let reply = forward(request)
        let answer = try? JSONValue.parse(reply.body.span, byteCountMax: 64 * 1024)
        if reply.status == 200, let ticket = answer?["installation"]?.stringValue {
            tickets.append(ticket)
        }
        return reply
    }

    private func serve(_ request: HTTPRequest) -> StandInReply {
        let assertion = request["X-App-Attest-Assertion"]
        // A client may go on without a proof while its enrolment waits. No act is about that.
        if act?.place == .enrolment, assertion == nil { return forward(request) }
        // A client that was enrolled before does not enrol.
        while act?.place == .enrolment { end(isReached: false) }
        let identity = Array("\(request.method) \(request.target)\n".utf8) + request.body
        if earlier.contains(identity) {
            blame(["sent a request again when another had followed it"], .notAfterAnother)
            return forward(request)
        }
        if let subject, subject != identity {
            earlier.insert(subject)
            end()
        }
        subject = identity
        blame(witness?.mistakes(ofRequest: request), .requestOnAndroid)
        guard let act else { return over() }
        if let assertion, !assertions.insert(assertion).inserted { record.repeatsAssertion = true }
        let index = record.attempts.count
        var attempt = TrialRecord.Attempt(milliseconds: now())
        if let offered = offeredChallenge {
            attempt.signsOfferedChallenge = request.signs(offered)
            if attempt.signsOfferedChallenge { offeredChallenge = nil }
        }
        let answer = gateway.reply(to: request)
        attempt.refusal =
            assertion == nil ? "it has no assertion" : TrialGateway.refusal(in: answer)
        let reply =
            index < act.misdeeds.count
            ? spoil(act.misdeeds[index], answer, request) : passedOn(answer)
        attempt.status = reply.status
        record.attempts.append(attempt)
        return reply
    }

    private func blame(_ mistakes: [String]?, _ advice: TrialAdvice) {
        for text in mistakes ?? [] {
            let mistake = TrialMistake(text: text, advice: advice)
            if !card.overall.contains(mistake) { card.overall.append(mistake) }
        }
    }

    /// Its holder can take the place of the installation, so a ticket goes to the gateway alone.
    private func watchTickets(_ request: HTTPRequest, isEnrolment: Bool) {
        let body = isEnrolment ? "" : String(decoding: request.body, as: UTF8.self)
        let texts = [request.target, body] + request.fields.map(\.value)
        if tickets.contains(where: { ticket in texts.contains { $0.contains(ticket) } }) {
            blame(["sent its ticket with another request than an enrolment"], .onlyToEnrolment)
        }
    }

    private func over() -> StandInReply {
        onEnd?()
        var reply = StandInReply(status: 200, text: "over\n")
        reply.fields = [.init("X-Trial", "over")]
        return reply
    }

    // MARK: answers

    private static let day: Int64 = 24 * 3600

    private func forward(_ request: HTTPRequest) -> StandInReply {
        passedOn(gateway.reply(to: request))
    }

    private func passedOn(_ reply: StandInReply) -> StandInReply {
        offeredChallenge = TrialGateway.challenge(in: reply) ?? offeredChallenge
        return reply
    }

    /// The client's answer to the request: the gateway's, after the misdeed.
    private func spoil(
        _ misdeed: TrialAct.Misdeed, _ answer: StandInReply, _ request: HTTPRequest
    ) -> StandInReply {
        var reply = answer
        switch misdeed {
        case .refuse(let status, let code, let action, let retryAfter, let retry):
            let challenge =
                TrialGateway.challenge(in: answer)
                ?? gateway.challenge(for: request["X-App-Attest-Key-Id"])
            return passedOn(
                TrialGateway.refusal(
                    status, code: code, action: action, retryAfter: retryAfter, retry: retry,
                    challenge: challenge))
        case .lose: reply.conduct = .close
        case .cut: reply.conduct = .cut
        case .page(let status):
            reply = StandInReply(
                status: status, text: "<html><title>Service unavailable</title></html>\n")
            reply.fields = [.init("Content-Type", "text/html")]
        case .redirect:
            reply = StandInReply(status: 307)
            reply.fields = [.init("Location", elsewhere)]
        case .oldDate:
            reply.fields.removeAll { $0.name.lowercased() == "date" }
            var date = ByteBuffer(capacity: 32)
            WallClock.appendHTTPDate(seconds: WallClock.now().seconds - Self.day, to: &date)
            reply.fields.append(.init("Date", String(decoding: date.readable.array, as: UTF8.self)))
            return passedOn(reply)
        case .advise:
            reply.fields.append(.init("X-App-Attest-Action", "update_app"))
            return passedOn(reply)
        case .ask(let word):
            reply.fields.append(.init("X-Trial", word))
            return passedOn(reply)
        }
        return reply
    }
}

extension HTTPRequest {
    /// The challenge that the request's assertion covers, in either shape, if it can be read.
    var signedChallenge: String? {
        let clientData =
            self["X-App-Attest-Client-Data"].flatMap { Base64.decode($0) } ?? body
        let members = try? JSONValue.parse(clientData.span, byteCountMax: 64 * 1024)
        return members?["challenge"]?.stringValue
    }

    /// True if the assertion covers this challenge, in either spelling that gateways take.
    fileprivate func signs(_ challenge: String) -> Bool {
        guard let signed = signedChallenge else { return false }
        return signed == challenge || Base64.decode(signed) == Array(challenge.utf8)
    }
}
