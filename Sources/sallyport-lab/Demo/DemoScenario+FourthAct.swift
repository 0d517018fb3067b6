import AppAttestTesting
import Bytes
import JSON

/// The logs of the demo's upstreams.
struct DemoLogs {
    let nginx: String
    /// The output of `sallyport-lab model`.
    let model: String

    func read(waitingFor rows: [Int]) throws -> UpstreamLog {
        try UpstreamLog(waitingFor: rows, nginx: nginx, model: model)
    }
}

/// The fourth act: an AI service behind the gateway, which keeps its API key and counts its tokens.
extension DemoScenario {
    /// A field in which some services take API keys. The gateway removes the client's.
    static let clientKeyField = "Api-Key"
    // The configuration of the demo has these, and the service counts words.
    private static let quotaLimit = 50
    private static let missingCharge = 25
    private static let question = "Say it again please"
    private static let answerTokenCount = 16
    private static let tokenCount = question.split(separator: " ").count + answerTokenCount

    mutating func playFourthAct(_ logs: DemoLogs) throws {
        let installation = try SimulatedDevice(appID: device.appID, system: .iOS27)
        guard let ticket = try enrol(installation) else {
            throw LabError("the enrolment brought no ticket")
        }
        try chat(installation)
        try useUp(installation)
        try reinstall(with: ticket)
        try leave(logs)
    }

    private static func chat(
        model: String = "gpt-x", tokenCountMax: Int = answerTokenCount, streamed: Bool = false
    ) -> HTTPRequest {
        let members: [String: JSONValue] = [
            "model": .string(model), "max_tokens": .integer(Int64(tokenCountMax)),
            "messages": .array([
                .object(["role": .string("user"), "content": .string(question)])
            ]),
            "stream": .bool(streamed),
            "stream_options": .object(["include_usage": .bool(true)]),
        ]
        var writer = JSONWriter()
        writer.element(.object(members))
        let body = writer.finish()
        return HTTPRequest(
            method: "POST", target: "/v1/chat/completions",
            fields: [
                ("Content-Type", "application/json"), ("Authorization", "Bearer of-the-client"),
                (clientKeyField, "of-the-client"),
            ], body: body.readable.array)
    }

    private mutating func chat(_ installation: SimulatedDevice) throws {
        try send(
            "a chat request, with API keys of the client's own",
            try signed(Self.chat(), by: installation),
            .arrived(.chat(tokens: Self.tokenCount), left: Self.quotaLimit))
        try send(
            "another one, whose answer comes as a stream",
            try signed(Self.chat(streamed: true), by: installation),
            .arrived(
                .chat(tokens: Self.tokenCount), left: Self.quotaLimit - Self.tokenCount))
        try send(
            "a chat request without a proof", Self.chat(), .refused(401, "assertion_required"))
        try send(
            "a model that the route does not allow",
            try signed(Self.chat(model: "gpt-xxl"), by: installation),
            .refused(403, "body_refused"))
    }

    private mutating func useUp(_ installation: SimulatedDevice) throws {
        try send(
            "a request while some tokens are left", try signed(Self.chat(), by: installation),
            .arrived(
                .chat(tokens: Self.tokenCount), left: Self.quotaLimit - 2 * Self.tokenCount))
        try send(
            "a request when none are left", try signed(Self.chat(), by: installation),
            .refused(429, "quota_exhausted", left: 0))
    }

    private mutating func reinstall(with ticket: String) throws {
        let reinstalled = try SimulatedDevice(appID: device.appID, system: .iOS27)
        try send(
            "the app was reinstalled, and enrols with its ticket",
            try DeviceClient.enrolment(
                of: reinstalled, by: apple,
                challenge: try client.attestationChallenge(for: reinstalled.keyID), ticket: ticket))
        try send(
            "a request of the reinstalled app", try signed(Self.chat(), by: reinstalled),
            .refused(429, "quota_exhausted", left: 0))
    }

    private mutating func leave(_ logs: DemoLogs) throws {
        let other = try SimulatedDevice(appID: device.appID, system: .iOS27)
        try enrol(other)
        try send(
            "a request of another installation", try signed(Self.chat(), by: other),
            .arrived(.chat(tokens: Self.tokenCount), left: Self.quotaLimit))
        let left = Self.quotaLimit - Self.tokenCount
        try send(
            "a client that leaves in the middle of a stream",
            try signed(Self.chat(tokenCountMax: 1000, streamed: true), by: other),
            .arrived(.abandonedChat, left: left), leaving: true)
        // Then it is charged, too.
        _ = try logs.read(waitingFor: [rows.count])
        try send(
            "its next request, with that stream charged", try signed(Self.chat(), by: other),
            .arrived(.chat(tokens: Self.tokenCount), left: left - Self.missingCharge))
    }
}
