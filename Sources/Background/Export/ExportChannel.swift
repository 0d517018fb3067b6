import EventLoop
import HTTPSClient
import OTLP
import Settings

/// The meaning of a collector's answer to one export.
enum ExportResult {
    case accepted(OTLPAnswer)
    /// The export may be sent again, not before `after` if that is known.
    case later(ExportMeter.Outcome, after: Duration?, reason: String)
    /// Sending the export again would be in vain.
    case refused(reason: String)

    /// OTLP/HTTP has a client try again after 429, 502, 503 and 504, and if there is no answer. A
    /// redirect is never followed, because the operator chooses the endpoint.
    init(_ result: Result<HTTPSResponse, HTTPSFailure>) {
        switch result {
        case .success(let response):
            switch response.status {
            case 200..<300: self = .accepted(OTLPAnswer(response.body))
            case 429, 502, 503, 504:
                self = .later(
                    .throttled, after: response.retryAfter,
                    reason: "the collector answered \(response.status)")
            default: self = .refused(reason: "the collector answered \(response.status)")
            }
        // A server with so long an answer is no collector.
        case .failure(.tooLarge): self = .refused(reason: "\(HTTPSFailure.tooLarge)")
        case .failure(let failure):
            self = .later(.failed, after: nil, reason: "\(failure)")
        }
    }
}

/// The channel of one signal to the collector: one request at a time, with an event when it fails
/// and when it works again.
final class ExportChannel {
    let signal: ExportMeter.Signal
    private let meter: ExportMeter
    private let log: any EventLog
    private(set) var isBusy = false
    private var failureCount = 0
    private let loop: EventLoop
    private var repeated = RepeatedEvents()

    init(
        _ signal: ExportMeter.Signal, loop: EventLoop, meter: ExportMeter, log: any EventLog
    ) {
        self.signal = signal
        self.loop = loop
        self.meter = meter
        self.log = log
    }

    /// Sends a body; `handler` is called later, but not if the client is closed meanwhile.
    func send(
        _ body: [UInt8], by target: ExportTarget, handler: @escaping (ExportResult) -> Void
    ) {
        isBusy = true
        target.client.send(target.request(signal, body: body)) { [weak self] result in
            guard let self else { return }
            isBusy = false
            if case .failure(.closed) = result { return }
            let result = ExportResult(result)
            note(result)
            handler(result)
        }
    }

    /// The wait after the failures so far.
    func pause(after asked: Duration?, jitter: Double) -> Duration {
        var backOff = BackOff()
        backOff.shortest = .seconds(1)
        backOff.longest = .seconds(30)
        let wait = backOff.delay(failureCount: failureCount, jitter: jitter)
        return max(wait, min(asked ?? .zero, Self.pauseMax))
    }

    /// Forgets the state of the old collector, because the settings have changed.
    func forget() {
        isBusy = false
        failureCount = 0
        meter.succeeded(signal)
    }

    /// The number of items that a collector says it threw away, limited to what an export can hold.
    private static func believable(_ answer: OTLPAnswer) -> Int {
        min(Int(clamping: answer.rejectedCount), rejectedCountMax)
    }

    private static let rejectedCountMax = 1_000_000

    private func note(_ result: ExportResult) {
        switch result {
        case .accepted(let answer):
            meter.count(signal, .accepted)
            meter.succeeded(signal)
            if answer.rejectedCount > 0 { tellRejected(answer) }
            if failureCount > 0 {
                log.event(
                    level: "info", "otlp_up", "\(signal.rawValue): the collector accepts them")
            }
            failureCount = 0
        case .later(let outcome, _, let reason):
            meter.count(signal, outcome)
            fail(reason)
        case .refused(let reason):
            meter.count(signal, .refused)
            fail(reason)
        }
    }

    /// Logs once a minute that a collector throws away a part of every export.
    private func tellRejected(_ answer: OTLPAnswer) {
        if signal == .traces { meter.drop(Self.believable(answer), .rejected) }
        let text =
            "\(signal.rawValue): the collector threw \(answer.rejectedCount) away: "
            + answer.message
        let turn = repeated.turn("otlp_rejected", text, of: signal.rawValue, at: loop.now)
        log.event(level: "warning", "otlp_rejected", turn)
    }

    private func fail(_ reason: String) {
        meter.failed(signal, reason)
        failureCount += 1
        guard failureCount == 1 else { return }
        log.event(level: "warning", "otlp_down", "\(signal.rawValue) are not exported: \(reason)")
    }

    /// The longest wait, even if a collector asks for a longer one.
    private static let pauseMax = Duration.seconds(300)
}

/// A collector, and the client that reaches it.
struct ExportTarget {
    let client: HTTPSClient
    private let endpoint: String
    private let fields: [HTTPSField]

    init(_ settings: OTLPSettings, loop: EventLoop) throws(HTTPSClientError) {
        client = try HTTPSClient(loop: loop, settings.configuration)
        endpoint = settings.endpoint
        fields =
            [HTTPSField("Content-Type", "application/json")]
            + settings.headers.map { HTTPSField($0.name, $0.value) }
    }

    func request(_ signal: ExportMeter.Signal, body: [UInt8]) -> HTTPSRequest {
        HTTPSRequest(
            url: "\(endpoint)/v1/\(signal.rawValue)", method: .post(body: body), fields: fields)
    }
}
