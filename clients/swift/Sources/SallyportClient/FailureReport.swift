import DeviceCheck
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A failure on this device, for the header `X-App-Attest-Failure`.
struct FailureReport: Sendable, Equatable {
    enum Phase: String, Sendable {
        case support, key, challenge, attest, verify, assert, request, token
    }

    let phase: Phase
    let code: String
    let attempt: Int

    /// Nil for an error that is no failure, such as a cancelled task or a wait.
    init?(_ phase: Phase, _ error: any Error, attempt: Int) {
        guard let code = Self.code(of: error) else { return nil }
        self.init(phase, code: code, attempt: attempt)
    }

    init(_ phase: Phase, code: String, attempt: Int) {
        (self.phase, self.code, self.attempt) = (phase, code, min(max(attempt, 1), 99))
    }

    /// True if the device failed. The gateway hears of failures of the network anyway.
    var isOfDevice: Bool { ![.challenge, .verify, .request].contains(phase) }

    /// The header's value.
    var text: String {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        var parts = [
            "phase=\(phase.rawValue)", "code=\(code)",
            "os=\(system.majorVersion).\(system.minorVersion)", "try=\(attempt)",
        ]
        // A value of another form in Info.plist would only spoil the rest.
        if let app = Bundle.main.bundleIdentifier, Self.isWord(app) { parts.append("app=\(app)") }
        if let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleVersion") as? String,
            Self.isWord(version)
        {
            parts.append("version=\(version)")
        }
        return parts.joined(separator: ";")
    }

    private static func isWord(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || byte == 0x2E || byte == 0x2D || byte == 0x5F
            }
    }

    private static func code(of error: any Error) -> String? {
        switch error {
        case let error as DCError:
            switch error.code {
            case .unknownSystemFailure: "unknownSystemFailure"
            case .featureUnsupported: "featureUnsupported"
            case .invalidInput: "invalidInput"
            case .invalidKey: "invalidKey"
            case .serverUnavailable: "serverUnavailable"
            @unknown default: "other"
            }
        case let error as URLError: code(of: error)
        case let error as ClientError:
            switch error {
            case .unsupported: "unsupported"
            case .refused: "refused"
            case .unexpectedAnswer: "unexpectedAnswer"
            case .keychain: "keychain"
            case .tryLater, .invalidRequest: nil
            }
        case is CancellationError: nil
        default: "other"
        }
    }

    private static func code(of error: URLError) -> String? {
        switch error.code {
        case .cancelled: nil
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff: "offline"
        case .timedOut: "timedOut"
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost: "unreachable"
        case .networkConnectionLost: "connectionLost"
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            "untrusted"
        default: "other"
        }
    }
}

/// Reports each failure once: with the next request, or by a request of its own if none follows
/// soon. No request is repeated for a report.
extension AppAttestClient {
    func note(_ phase: FailureReport.Phase, _ error: any Error, attempt: Int = 1) {
        guard configuration.reportsFailures,
            let report = FailureReport(phase, error, attempt: attempt)
        else { return }
        // A later failure of the network must not hide one of the device.
        if let failure, failure.isOfDevice, !report.isOfDevice { return }
        failure = report
    }

    /// Notes that App Attest is unsupported, once in a client's life because that never changes.
    func noteUnsupported() {
        guard !hasToldUnsupported, configuration.developerToken == nil else { return }
        hasToldUnsupported = true
        note(.support, ClientError.unsupported)
    }

    /// The request with the failure that was not reported yet, and that failure. Only one of
    /// several requests under way carries it.
    func carrying(_ request: URLRequest) -> (request: URLRequest, report: FailureReport?) {
        guard let report = failure else { return (request, nil) }
        failure = nil
        var request = request
        request.setValue(report.text, forHTTPHeaderField: HeaderName.failure)
        return (request, report)
    }

    /// Keeps a report for later, if no answer has shown that the gateway got it.
    func keep(_ report: FailureReport?) {
        if failure == nil { failure = report }
    }

    /// Sends one of the client's own requests.
    func transmit(
        _ request: URLRequest, _ body: RequestBody
    ) async throws -> (Data, HTTPURLResponse) {
        let (request, report) = carrying(request)
        do {
            return try await transport.send(request, body)
        } catch {
            keep(report)
            throw error
        }
    }

    /// Reports a failure of the device by a request of its own. If that fails as well, the next
    /// request reports it.
    func tellFailure() async {
        guard let failure, failure.isOfDevice || failure.phase == .verify else { return }
        var request = URLRequest(
            url: configuration.gateway.appendingPathComponent("attest/failure"))
        request.httpMethod = "POST"
        // The caller waits for the error.
        request.timeoutInterval = 5
        _ = try? await transmit(request, .none)
    }
}
