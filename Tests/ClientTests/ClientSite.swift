import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient

/// A network between client and gateway that loses answers, or gives its own, as a test says.
final class SimulatedNetwork: Transport, @unchecked Sendable {
    typealias Fault = @Sendable (URLRequest) -> Trouble?

    enum Trouble {
        /// The gateway gets the request; its answer is lost.
        case lost
        /// The gateway never sees the request.
        case answer(Int, [String: String], String)
    }

    private let lock = NSLock()
    private var fault: Fault = { _ in nil }
    private var sentPaths: [String] = []
    private let real = SessionTransport()

    /// Asked before each request from now on.
    func trouble(_ fault: @escaping Fault) { lock.withLock { self.fault = fault } }

    /// The next requests below this path meet these troubles, one each.
    func trouble(_ path: String, _ troubles: [Trouble]) {
        let left = Left(troubles)
        trouble { $0.url?.path == path ? left.next() : nil }
    }

    /// The paths of all requests so far.
    var paths: [String] { lock.withLock { sentPaths } }

    func count(_ path: String) -> Int { paths.count { $0 == path } }

    func send(
        _ request: URLRequest, _ body: RequestBody
    ) async throws -> (Data, HTTPURLResponse) {
        let fault = lock.withLock {
            sentPaths.append(request.url?.path ?? "")
            return self.fault
        }
        switch fault(request) {
        case nil: return try await real.send(request, body)
        case .lost:
            _ = try await real.send(request, body)
            throw URLError(.networkConnectionLost)
        case .answer(let status, let fields, let text):
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url, statusCode: status, httpVersion: nil, headerFields: fields)
            else { throw URLError(.badURL) }
            return (Data(text.utf8), response)
        }
    }

    private final class Left: @unchecked Sendable {
        private let lock = NSLock()
        private var troubles: [Trouble]

        init(_ troubles: [Trouble]) { self.troubles = troubles }

        func next() -> Trouble? {
            lock.withLock { troubles.isEmpty ? nil : troubles.removeFirst() }
        }
    }
}

extension SimulatedNetwork.Trouble {
    /// A refusal by a gateway.
    static func refusal(
        _ status: Int, _ code: String, _ action: String, retryAfter: Int? = nil
    ) -> Self {
        var fields = ["Content-Type": "application/problem+json"]
        if let retryAfter { fields["Retry-After"] = "\(retryAfter)" }
        return .answer(status, fields, #"{"code":"\#(code)","action":"\#(action)"}"#)
    }
}

/// A gateway, an upstream behind it, and what makes up a client before it.
final class ClientSite {
    let upstream: RecordingUpstream
    let gateway: GatewayProcess
    let service: SimulatedService
    let network = SimulatedNetwork()
    let clock = SimulatedClock()
    let store = MemoryStore()
    var configuration: Configuration
    var deviceTokens = SimulatedDeviceTokens()

    init(
        attest: String = "mode: enforce", isSupported: Bool = true, more: [String] = [],
        _ configure: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        upstream = try RecordingUpstream()
        var gatewayConfiguration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        gatewayConfiguration.more += more
        configure(&gatewayConfiguration)
        gateway = try GatewayProcess(gatewayConfiguration)
        service = SimulatedService(isSupported: isSupported)
        guard let url = URL(string: "http://127.0.0.1:\(gateway.port)") else {
            throw URLError(.badURL)
        }
        configuration = Configuration(gateway: url)
    }

    /// A client as at a launch of the app.
    func client(
        store: (any EnrolmentStore)? = nil, service: (any AttestService)? = nil,
        transport: (any Transport)? = nil
    ) -> AppAttestClient {
        AppAttestClient(
            configuration, store: store ?? self.store, service: service ?? self.service,
            deviceTokens: deviceTokens, transport: transport ?? network, clock: clock.clock)
    }

    func request(
        _ target: String = "/api/x", method: String = "GET", body: String? = nil
    ) throws -> URLRequest {
        guard let url = URL(string: configuration.gateway.absoluteString + target) else {
            throw URLError(.badURL)
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        return request
    }
}
