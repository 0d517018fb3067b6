import DeviceCheck
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Signs requests with App Attest and sends them through a Sallyport gateway.
///
/// Use one client for each gateway and process. It enrols a key when the first request needs one,
/// keeps the challenges in answers, puts requests into the order that the gateway demands, and
/// follows the advice of refusals, within the bounds of ``RetryPolicy``.
public actor AppAttestClient {
    /// The proof of a request.
    public enum Proof: Sendable {
        /// An assertion over this very request.
        case assertion
        /// A session token, which one assertion pays for: for routes with `accept: [assertion,
        /// token]`.
        case sessionToken
    }

    let configuration: Configuration
    let service: any AttestService
    let deviceTokens: any DeviceTokenService
    let store: any EnrolmentStore
    let tickets: (any TicketStore)?
    let transport: any Transport
    let clock: ClientClock
    private let turnstile: Turnstile

    /// Nil until it was loaded.
    var state: EnrolmentState?
    var enrolment: Task<String, any Error>?
    /// The number of states that could not be saved, and the wait after them. No store has them.
    var unsaved: (count: Int, wait: EnrolmentState.Wait)?
    var challenges = ChallengeCache()
    var session: SessionToken?
    /// The session tokens that are being fetched, by the values that they are bound to.
    var sessionTasks: [String?: Task<SessionToken, any Error>] = [:]
    /// The failure that was not reported yet.
    var failure: FailureReport?
    var hasToldUnsupported = false

    /// Makes a client with the device's own services and its state in the keychain.
    public init(_ configuration: Configuration) {
        self.init(
            configuration, store: KeychainStore(gateway: configuration.gateway),
            tickets: KeychainTicketStore(gateway: configuration.gateway))
    }

    /// Makes a client with the given parts.
    ///
    /// - Parameter tickets: Nil if a reinstalled app is to be another installation.
    public init(
        _ configuration: Configuration, store: any EnrolmentStore,
        tickets: (any TicketStore)? = nil,
        service: any AttestService = DeviceAttestService(),
        deviceTokens: any DeviceTokenService = DeviceCheckService(),
        transport: any Transport = SessionTransport(), clock: ClientClock = ClientClock()
    ) {
        self.configuration = configuration
        self.store = store
        self.tickets = tickets
        self.service = service
        self.deviceTokens = deviceTokens
        self.transport = transport
        self.clock = clock
        turnstile = Turnstile(places: configuration.signing.places)
    }

    /// The key ID, if the gateway has confirmed a key.
    public var keyID: String? {
        get throws { try enrolmentState().isEnrolled ? enrolmentState().keyID : nil }
    }

    /// Enrols a key now, which the first request would do otherwise.
    ///
    /// - Throws: ``ClientError``, `DCError` or `URLError`. Completed steps are kept.
    public func enrol() async throws {
        try requireSupport()
        _ = try await enrolledKey()
    }

    /// Sends a request with its proof and returns the API's answer.
    ///
    /// - Parameter body: A file, or the bytes if they are not the request's own `httpBody`.
    /// - Throws: ``ClientError/refused(_:)`` if the gateway refuses and nothing helps now; the
    ///   reason why there is no proof, if there must be one; the transport's error, if no answer
    ///   came. The API may have seen such a request. ``ClientError/invalidRequest(_:)`` if the
    ///   client does not serve the URL (``serves(_:)``): no other server may see a proof.
    public func send(
        _ request: URLRequest, body: RequestBody? = nil, proof: Proof = .assertion
    ) async throws -> (Data, HTTPURLResponse) {
        let body = try RequestBody.of(request, body)
        let transport = transport
        let answer = try await deliver(request, body, proof) { request, body in
            try await Answer(transport.send(request, body))
        }
        return (answer.content, answer.response)
    }

    /// Returns the request with an assertion, to be sent once and soon by another sender, such as
    /// another session or an extension. Hand the answer to ``receive(_:_:)``, and a refusal to
    /// ``follow(_:of:attempt:)``.
    ///
    /// It throws if there is no proof now, whatever ``Configuration/whenUnproved`` says. If the
    /// gateway is to decide, send the unchanged request then.
    ///
    /// The request is good for one attempt within the life of its challenge (two minutes unless the
    /// operator says otherwise). A background session may send it later, and repeats it by itself,
    /// which is a replay. On a route with `replay: strict` no other request may be signed until its
    /// answer has come. For such transfers prefer ``sessionToken(boundTo:insteadOf:)``, or a route
    /// with a window and a longer `challenge.ttl`.
    ///
    /// It throws ``ClientError/invalidRequest(_:)`` for a URL that the client does not serve.
    public func sign(
        _ request: URLRequest, body: RequestBody? = nil
    ) async throws -> (URLRequest, RequestBody) {
        try requireServed(request)
        try requireSupport()
        let signed = try await signed(request, try RequestBody.of(request, body))
        return (carrying(signed.request).request, signed.body)
    }

    /// Keeps the challenge that an answer brought, and returns the refusal if it is one.
    @discardableResult
    public func receive(_ data: Data, _ response: HTTPURLResponse) -> Refusal? {
        keepChallenge(of: response)
        return Refusal(data, response)
    }

    // MARK: attempts

    /// An answer, with the gateway's own statements in it.
    public struct Answer<Content: Sendable>: Sendable {
        let content: Content
        let response: HTTPURLResponse
        let refusal: Refusal?
        /// The key that signed the request, or that paid for its session token.
        var keyID: String?
        var token: SessionToken?
        /// The reason why the request was sent without a proof.
        var unproved: (any Error)?

        /// Makes the answer that another HTTP stack has received.
        ///
        /// - Parameter refusal: What ``Refusal/init(_:_:)`` finds in the answer.
        public init(_ content: Content, _ response: HTTPURLResponse, refusal: Refusal?) {
            self.content = content
            self.response = response
            self.refusal = refusal
        }
    }

    /// Sends a request once, as it is, and follows no redirection.
    public typealias Exchange<Content: Sendable> =
        @Sendable (URLRequest, RequestBody) async throws -> Answer<Content>

    /// Sends until the API has answered, or nothing is left to try.
    func deliver<Content: Sendable>(
        _ request: URLRequest, _ body: RequestBody, _ proof: Proof,
        whenUnproved: Configuration.Unproved? = nil, _ exchange: Exchange<Content>
    ) async throws -> Answer<Content> {
        try requireServed(request)
        var proof = proof
        var attempt = 1
        while true {
            let answer = try await self.attempt(
                request, body, proof, whenUnproved ?? configuration.whenUnproved, exchange)
            // A challenge for a key that was replaced meanwhile is useless.
            if try answer.keyID == nil || answer.keyID == enrolmentState().keyID {
                keepChallenge(of: answer.response)
            }
            guard let refusal = answer.refusal else { return answer }
            // The gateway insists on a proof. The reason why there is none says more than that.
            if let reason = answer.unproved, refusal.asksForProof { throw reason }
            if refusal.code == "assertion_required" { proof = .assertion }
            if refusal.code == "token_invalid" { giveUpToken(answer.token) }
            guard attempt < configuration.retries.attempts(refusal.retry),
                try await resolve(refusal, of: request, by: answer.keyID, attempt: attempt)
            else { throw ClientError.refused(refusal) }
            attempt += 1
        }
    }

    private func attempt<Content: Sendable>(
        _ request: URLRequest, _ body: RequestBody, _ proof: Proof,
        _ whenUnproved: Configuration.Unproved, _ exchange: Exchange<Content>
    ) async throws -> Answer<Content> {
        let outcome: Result<Answer<Content>, any Error>
        do {
            outcome = try await proved(request, body, proof, exchange)
        } catch  where whenUnproved == .sendUnproved && Self.concernsProof(error) {
            outcome = await exchanging(request, body, exchange).map { answer in
                var answer = answer
                answer.unproved = error
                return answer
            }
        }
        return try outcome.get()
    }

    /// True if a request may be delivered although its proof failed with this error.
    static func concernsProof(_ error: any Error) -> Bool {
        switch error {
        // The network would not carry the request either, it was cancelled, or it is no valid
        // request.
        case is URLError, is CancellationError, ClientError.invalidRequest: false
        default: true
        }
    }

    /// Sends a request with its proof.
    ///
    /// - Throws: The reason why there is no proof. A failure of `exchange` is in the result.
    private func proved<Content: Sendable>(
        _ request: URLRequest, _ body: RequestBody, _ proof: Proof,
        _ exchange: Exchange<Content>
    ) async throws -> Result<Answer<Content>, any Error> {
        // From the signature to the answer, because only the answer shows that the counter was
        // accepted.
        guard service.isSupported, proof == .assertion else {
            return try await provedOnce(request, body, proof, exchange)
        }
        return try await turnstile.pass {
            try await self.provedOnce(request, body, proof, exchange)
        }
    }

    private func provedOnce<Content: Sendable>(
        _ request: URLRequest, _ body: RequestBody, _ proof: Proof,
        _ exchange: Exchange<Content>
    ) async throws -> Result<Answer<Content>, any Error> {
        let proved = try await withProof(request, body, proof)
        return await exchanging(proved.request, proved.body, exchange).map { answer in
            var answer = answer
            (answer.keyID, answer.token) = (proved.keyID, proved.token)
            return answer
        }
    }

    /// A request as it is sent, and what proves it.
    struct Proved {
        let request: URLRequest
        let body: RequestBody
        /// The key that signed it, or that paid for its token; nil on devices without App Attest.
        var keyID: String?
        var token: SessionToken?
    }

    /// Adds a proof to a request.
    func withProof(
        _ request: URLRequest, _ body: RequestBody, _ proof: Proof
    ) async throws -> Proved {
        do {
            switch proof {
            case .assertion:
                try requireSupport()
                let signed = try await signed(request, body)
                return Proved(request: signed.request, body: signed.body, keyID: signed.keyID)
            case .sessionToken:
                let token = try await sessionToken(for: request)
                var request = request
                request.setValue(token.text, forHTTPHeaderField: HeaderName.token)
                return Proved(request: request, body: body, keyID: token.keyID, token: token)
            }
        } catch ClientError.unsupported {
            // If a key could not be made, that was noted when it was tried.
            if !service.isSupported { noteUnsupported() }
            return Proved(request: try await standIn(request), body: body)
        }
    }

    private func exchanging<Content: Sendable>(
        _ request: URLRequest, _ body: RequestBody, _ exchange: Exchange<Content>
    ) async -> Result<Answer<Content>, any Error> {
        let (request, report) = carrying(request)
        do {
            return .success(try await exchange(request, body))
        } catch {
            keep(report)
            note(.request, error)
            return .failure(error)
        }
    }

    /// Prepares another attempt, or returns false if none would help.
    func resolve(
        _ refusal: Refusal, of request: URLRequest, by keyID: String?, attempt: Int
    ) async throws -> Bool {
        switch refusal.action {
        case .signAgain, .fetchChallenge:
            guard refusal.allowsRepeating(request) else { return false }
            guard let first = refusal.retry?.first, first > 0 else { return true }
            guard first <= configuration.retries.waitMax else { return false }
            try await clock.sleep(first)
            return true
        case .attestAgain: return try keyID.map { try giveUpKey($0, refusal.retry) } ?? false
        case .retryLater:
            let retries = configuration.retries
            let wait = retries.wait(
                afterFailures: attempt, retryAfter: refusal.retryAfter, limit: retries.waitMax,
                advice: refusal.retry, chance: clock.chance())
            guard wait <= retries.waitMax * 1.25, refusal.allowsRepeating(request) else {
                return false
            }
            try await clock.sleep(wait)
            return true
        case .updateApp, .none: return false
        }
    }

    // MARK: challenges

    func keepChallenge(of response: HTTPURLResponse) {
        if let token = response.value(forHTTPHeaderField: HeaderName.challenge) {
            challenges.keep(token, at: clock.now())
        }
    }
}

extension AppAttestClient.Answer where Content == Data {
    init(_ answer: (data: Data, response: HTTPURLResponse)) {
        self.init(
            answer.data, answer.response, refusal: Refusal(answer.data, answer.response))
    }
}

/// Time and randomness, which tests control.
public struct ClientClock: Sendable {
    public var now: @Sendable () -> Date = { Date() }
    /// Waits for this many seconds. Throws `CancellationError` if the task is cancelled.
    public var sleep: @Sendable (TimeInterval) async throws -> Void = {
        try await Task.sleep(nanoseconds: UInt64($0 * 1_000_000_000))
    }
    /// A number from 0 to 1.
    public var chance: @Sendable () -> Double = { Double.random(in: 0...1) }

    public init() {}
}

/// The headers whose names gateways cannot change.
enum HeaderName {
    static let challenge = "X-App-Attest-Challenge"
    static let token = "X-App-Attest-Token"
    static let deviceToken = "X-Device-Check-Token"
    static let action = "X-App-Attest-Action"
    static let failure = "X-App-Attest-Failure"
}

extension Refusal {
    /// True if another proof may be accepted.
    var asksForProof: Bool { [.signAgain, .fetchChallenge, .attestAgain].contains(action) }

    /// True if the API may have got the request: its answer did not reach the gateway, or the
    /// gateway may have accepted this very assertion before, because the network sent it twice.
    private var mayHaveTakenEffect: Bool {
        ["upstream_failed", "upstream_timeout"].contains(code)
            || code == "assertion_replayed" && assertion != .unspent
    }

    /// True if the request may be sent again without taking effect twice.
    func allowsRepeating(_ request: URLRequest) -> Bool {
        guard mayHaveTakenEffect else { return true }
        let method = request.httpMethod?.uppercased() ?? "GET"
        return ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method)
    }
}

extension HTTPURLResponse {
    /// True if the gateway advises to update the app, which still works for a while.
    public var advisesUpdate: Bool {
        value(forHTTPHeaderField: HeaderName.action) == Refusal.Action.updateApp.rawValue
    }
}
