import AppAttest
public import Attestation
import Bytes
import Crypto
public import EventLoop
public import HTTPSClient

/// The configuration of an ``AppleClient``.
public struct AppleConfiguration: Sendable {
    /// The keys to sign in with, for each team in the order in which they are tried.
    public var keys: [AppleKey]
    public var https: HTTPSConfiguration
    public var attestationData = AppleHosts.attestationData
    public var deviceCheck = AppleHosts.deviceCheck
    public var authorization = AppleAuthorization.bare

    public init(keys: [AppleKey], https: HTTPSConfiguration) {
        self.keys = keys
        self.https = https
    }
}

/// The observer of an ``AppleClient``, for metrics and alarms.
public protocol AppleObserver: AnyObject {
    /// Reports the outcome of each request that a caller made, once.
    func appleAnswered(service: String, environment: AttestEnvironment, label: String)
    /// Reports a key that Apple does not accept; again every ten minutes while that lasts.
    func appleRefused(keyID: String, teamID: String, failure: AppleFailure)
}

/// Asks Apple's services, signed in by the operator's keys. Belongs to its loop's thread.
///
/// Requests that are under way keep the client alive, so that another client may replace it when
/// the configuration changes. Each service has its own connections and its own bound on requests in
/// flight, so that neither can starve the other.
public final class AppleClient {
    private let loop: EventLoop
    private let configuration: AppleConfiguration
    private var credentials: AppleCredentials
    private let receipts: HTTPSClient
    private let devices: HTTPSClient
    public weak var observer: (any AppleObserver)?

    public init(loop: EventLoop, _ configuration: AppleConfiguration) throws(HTTPSClientError) {
        self.loop = loop
        self.configuration = configuration
        credentials = AppleCredentials(configuration.keys)
        receipts = try HTTPSClient(loop: loop, configuration.https)
        devices = try HTTPSClient(loop: loop, configuration.https)
    }

    public func has(team teamID: String) -> Bool { credentials.has(team: teamID) }

    /// The number of receipts that may still be exchanged at once.
    public var freeCountOfReceipts: Int {
        configuration.https.inFlightCountMax - receipts.inFlightCount
    }
    public var freeCountOfDevices: Int {
        configuration.https.inFlightCountMax - devices.inFlightCount
    }

    /// Cancels all requests that are under way. Their callers are told.
    public func close() {
        receipts.close()
        devices.close()
    }

    /// Exchanges a receipt for the newest of its key. `handler` is called once, and later.
    @discardableResult
    public func renew(
        receipt: [UInt8], teamID: String, environment: AttestEnvironment,
        handler: @escaping (AttestationData.Answer) -> Void
    ) -> AppleCall {
        let base = configuration.attestationData.base(environment)
        let errand = Errand<AttestationData.Answer>(
            client: receipts, teamID: teamID,
            request: { [authorization = configuration.authorization] token in
                AttestationData.request(
                    receipt, base: base, token: token, authorization: authorization)
            },
            read: { AttestationData.answer($0) },
            handler: { [self] answer in
                observer?.appleAnswered(
                    service: "attestation_data", environment: environment, label: answer.label)
                handler(answer)
            })
        return begin(errand)
    }

    /// Asks a question about a device. `deviceToken`: base64, as the device sent it.
    @discardableResult
    public func ask(
        _ question: DeviceCheck.Question, deviceToken: String, teamID: String,
        environment: AttestEnvironment, handler: @escaping (DeviceCheck.Answer) -> Void
    ) -> AppleCall {
        let base = configuration.deviceCheck.base(environment)
        let errand = Errand<DeviceCheck.Answer>(
            client: devices, teamID: teamID,
            request: { [loop] token in
                DeviceCheck.request(
                    question, token: deviceToken, base: base, token: token,
                    transactionID: Hex.encode(RandomBytes.bytes(16)),
                    milliseconds: loop.wallMilliseconds)
            },
            read: { DeviceCheck.answer($0, to: question) },
            handler: { [self] answer in
                observer?.appleAnswered(
                    service: question.name, environment: environment, label: answer.label)
                handler(answer)
            })
        return begin(errand)
    }

    // MARK: trying one key after another

    private struct Errand<Answer: AppleAnswer> {
        let client: HTTPSClient
        let teamID: String
        /// Makes the request with this sign-in token.
        let request: (String) -> HTTPSRequest
        let read: (Result<HTTPSResponse, HTTPSFailure>) -> Answer
        let handler: (Answer) -> Void
    }

    private func begin<Answer>(_ errand: Errand<Answer>) -> AppleCall {
        let call = AppleCall()
        do throws(CryptoError) {
            let candidates = try credentials.candidates(
                team: errand.teamID, now: loop.now.nanoseconds,
                seconds: loop.wallMilliseconds / 1000)
            guard !candidates.isEmpty else {
                call.tell(on: loop) { errand.handler(Answer(.noKey(teamID: errand.teamID))) }
                return call
            }
            attempt(errand, candidates[...], call)
        } catch {
            let failure = AppleFailure.unanswered(.failed("\(error)"))
            call.tell(on: loop) { errand.handler(Answer(failure)) }
        }
        return call
    }

    private func attempt<Answer>(
        _ errand: Errand<Answer>, _ candidates: ArraySlice<AppleCredentials.Credential>,
        _ call: AppleCall
    ) {
        guard let credential = candidates.first else { return }
        call.request = errand.client.send(errand.request(credential.token)) { [self] result in
            let answer = errand.read(result)
            if let failure = answer.failure, failure.blamesKey {
                let isNews = credentials.refuse(credential, now: loop.now.nanoseconds)
                if isNews {
                    observer?.appleRefused(
                        keyID: credential.keyID, teamID: errand.teamID, failure: failure)
                }
                let others = candidates.dropFirst()
                if !others.isEmpty { return attempt(errand, others, call) }
            } else if case .success = result {
                credentials.accept(credential)
            }
            errand.handler(answer)
        }
    }
}

/// A request to Apple. Dropping it changes nothing; after ``cancel()`` the handler is not called
/// any more.
public final class AppleCall {
    fileprivate var request: HTTPSCall?
    private var timer: Timer?

    public func cancel() {
        request?.cancel()
        request = nil
        timer = nil
    }

    /// Calls `body` later, like every other answer.
    fileprivate func tell(on loop: EventLoop, _ body: @escaping () -> Void) {
        let timer = Timer(loop: loop) { [self] in
            self.timer = nil
            body()
        }
        self.timer = timer
        timer.schedule(after: .zero)
    }
}

/// The common part of both services' answers.
protocol AppleAnswer {
    init(_ failure: AppleFailure)
    /// The failure; nil if Apple did or judged what was asked.
    var failure: AppleFailure? { get }
}

extension AttestationData.Answer: AppleAnswer {
    init(_ failure: AppleFailure) { self = .failed(failure) }

    public var failure: AppleFailure? {
        if case .failed(let failure) = self { failure } else { nil }
    }
}

extension DeviceCheck.Answer: AppleAnswer {
    init(_ failure: AppleFailure) { self = .failed(failure) }

    public var failure: AppleFailure? {
        if case .failed(let failure) = self { failure } else { nil }
    }
}
