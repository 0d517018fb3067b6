import AppAttestTesting
import Bytes
import EventLoop
import JSON

/// A gateway that misbehaves on purpose: it stands in front of a real one, lets most requests
/// through, and notes how a client reacts to its faults.
///
/// A client sends one request after another, each with a body that no other has. So a body that
/// comes again is another attempt, and a new body ends the act.
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
    /// The challenge that the client has not used yet.
    private var unusedChallenge: String?
    private var card = TrialCard()
    private let now: () -> Int64
    /// Looks at what a client on Android sends; nil in a trial of another.
    private let witness: PhoneWitness?
    /// True if any client came.
    private(set) var isReached = false

    /// Called when all acts were played.
    var onEnd: (() -> Void)?

    /// `now`: milliseconds of a clock that is never set.
    init(gateway: TrialGateway, platform: LabPlatform, now: @escaping () -> Int64) {
        self.gateway = gateway
        self.now = now
        witness = platform == .android ? PhoneWitness() : nil
        waiting = (platform == .android ? TrialAct.android : TrialAct.all)[...]
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
        switch request.path.dropFirst(gateway.base.utf8.count) {
        case "attest/verify": return enrol(request)
        case "assert/challenge":
            if unusedChallenge != nil { record.needlessFetchCount += 1 }
            return forward(request)
        case "assert/token":
            witness?.mistakes(ofRequest: request).forEach(blame)
            return forward(request)
        case "attest/challenge", "attest/failure": return forward(request)
        default:
            if request.path == Self.elsewhere {
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
        witness?.mistakes(ofEnrolment: request).forEach(blame)
        let members = try? JSONValue.parse(request.body.span, byteCountMax: 64 * 1024)
        if let keyID = members?["key_id"]?.stringValue, keyIDs.insert(keyID).inserted {
            record.newKeyCount += 1
        }
        guard act?.place == .enrolment else { return forward(request) }
        let texts = members?["chain"]?.arrayValue ?? [members?["attestation"]].compactMap(\.self)
        let attestation = Array(texts.compactMap(\.stringValue).joined(separator: " ").utf8)
        let index = note(request, attestation)
        if let act, index < act.misdeeds.count {
            return commit(act.misdeeds[index], request)
        }
        // This attempt ends the act, and begins the next.
        end()
        guard act?.place == .enrolment else { return forward(request) }
        _ = note(request, attestation)
        return act?.misdeeds.first.map { commit($0, request) } ?? forward(request)
    }

    private func note(_ request: HTTPRequest, _ attestation: [UInt8]) -> Int {
        record.attestations.insert(attestation)
        record.attempts.append(.init(milliseconds: now(), challenge: nil, status: 0))
        return record.attempts.count - 1
    }

    private func serve(_ request: HTTPRequest) -> StandInReply {
        // A client may go on without a proof while its enrolment waits. No act is about that.
        if act?.place == .enrolment, request["X-App-Attest-Assertion"] == nil {
            return forward(request)
        }
        // A client that was enrolled before does not enrol.
        while act?.place == .enrolment { end(isReached: false) }
        let identity = Array("\(request.method) \(request.target)\n".utf8) + request.body
        if subject != identity {
            if let subject {
                earlier.insert(subject)
                end()
            }
            subject = identity
        }
        if earlier.contains(identity) {
            blame("sent a request again when another had followed it")
        }
        if let assertion = request["X-App-Attest-Assertion"],
            !assertions.insert(assertion).inserted
        {
            blame("sent the same assertion twice")
        }
        witness?.mistakes(ofRequest: request).forEach(blame)
        guard let act else { return over() }
        let challenge = request.signedChallenge
        if challenge == unusedChallenge { unusedChallenge = nil }
        let index = record.attempts.count
        let time = now()
        let reply =
            index < act.misdeeds.count
            ? commit(act.misdeeds[index], request) : forward(request)
        record.attempts.append(
            .init(milliseconds: time, challenge: challenge, status: reply.status))
        return reply
    }

    private func blame(_ mistake: String) {
        if !card.overall.contains(mistake) { card.overall.append(mistake) }
    }

    private func over() -> StandInReply {
        onEnd?()
        var reply = StandInReply(status: 200, text: "over\n")
        reply.fields = [.init("X-Trial", "over")]
        return reply
    }

    // MARK: answers

    private static let elsewhere = "/trial/elsewhere"
    private static let day: Int64 = 24 * 3600

    private func forward(_ request: HTTPRequest) -> StandInReply {
        let reply = gateway.reply(to: request)
        keepChallenge(of: reply)
        return reply
    }

    private func keepChallenge(of reply: StandInReply) {
        let name = "x-app-attest-challenge"
        if let field = reply.fields.first(where: { $0.name.lowercased() == name }) {
            unusedChallenge = field.value
        }
    }

    private func commit(_ misdeed: TrialAct.Misdeed, _ request: HTTPRequest) -> StandInReply {
        switch misdeed {
        case .refuse(let status, let code, let action, let retryAfter, let retry):
            // The API gets the request, and only its answer is missing.
            if code == "upstream_failed" { _ = gateway.reply(to: request) }
            let challenge = gateway.challenge(for: request["X-App-Attest-Key-Id"])
            let reply = TrialGateway.refusal(
                status, code: code, action: action, retryAfter: retryAfter, retry: retry,
                challenge: challenge)
            record.offeredChallenges += [challenge].compactMap(\.self)
            keepChallenge(of: reply)
            return reply
        case .lose:
            var reply = gateway.reply(to: request)
            reply.conduct = .close
            return reply
        case .cut:
            var reply = gateway.reply(to: request)
            reply.conduct = .cut
            return reply
        case .page(let status):
            var reply = StandInReply(
                status: status, text: "<html><title>Service unavailable</title></html>\n")
            reply.fields = [.init("Content-Type", "text/html")]
            return reply
        case .redirect:
            var reply = StandInReply(status: 307)
            reply.fields = [.init("Location", Self.elsewhere)]
            return reply
        case .oldDate:
            var reply = forward(request)
            reply.fields.removeAll { $0.name.lowercased() == "date" }
            var date = ByteBuffer(capacity: 32)
            WallClock.appendHTTPDate(seconds: WallClock.now().seconds - Self.day, to: &date)
            reply.fields.append(.init("Date", String(decoding: date.readable.array, as: UTF8.self)))
            return reply
        case .advise:
            var reply = forward(request)
            reply.fields.append(.init("X-App-Attest-Action", "update_app"))
            return reply
        }
    }
}

extension HTTPRequest {
    var path: Substring { target.prefix { $0 != "?" } }

    /// The challenge that the request's assertion covers, in either shape, if it can be read.
    var signedChallenge: String? {
        let clientData =
            self["X-App-Attest-Client-Data"].flatMap { Base64.decode($0) } ?? body
        let members = try? JSONValue.parse(clientData.span, byteCountMax: 64 * 1024)
        return members?["challenge"]?.stringValue
    }
}
