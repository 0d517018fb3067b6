// Stands in for Alamofire 5, which cannot be fetched where the tests run. It has only the
// declarations that the interceptor and its tests need, is no part of any product, and carries out
// the steps of a request in Alamofire's order.

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

public protocol RequestAdapter: Sendable {
    func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)
}

public struct RequestAdapterState: Sendable {
    public let requestID: UUID
    public let session: Session
}

public protocol RequestRetrier: Sendable {
    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)
}

public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

public enum RetryResult: Sendable {
    case retry
    case doNotRetry
    case doNotRetryWithError(any Error)
}

public protocol EventMonitor: Sendable {
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?)
    func requestDidFinish(_ request: Request)
}

public enum AFError: Error {
    case responseValidationFailed(status: Int)
    case requestRetryFailed(retryError: any Error)
}

public protocol RedirectHandler: Sendable {}

public struct Redirector: RedirectHandler {
    public static let doNotFollow = Redirector()
}

public class Request: @unchecked Sendable {
    public let id = UUID()
    public fileprivate(set) var request: URLRequest?
    public fileprivate(set) var response: HTTPURLResponse?
    public fileprivate(set) var retryCount = 0
}

public final class DataRequest: Request, @unchecked Sendable {
    public fileprivate(set) var data: Data?
    private let original: URLRequest
    private let session: Session
    private var isValidated = false

    fileprivate init(_ original: URLRequest, _ session: Session) {
        self.original = original
        self.session = session
    }

    @discardableResult
    public func validate() -> Self {
        isValidated = true
        return self
    }

    public func serializingData() -> DataTask { DataTask(request: self) }

    fileprivate func run() async throws -> Data {
        defer { for monitor in session.monitors { monitor.requestDidFinish(self) } }
        while true {
            let adapted = try await withCheckedThrowingContinuation { continuation in
                let state = RequestAdapterState(requestID: id, session: session)
                session.interceptor.adapt(original, using: state) {
                    continuation.resume(with: $0)
                }
            }
            request = adapted
            let (data, task) = try await exchange(adapted)
            self.data = data
            response = task.response as? HTTPURLResponse
            for monitor in session.monitors {
                monitor.request(self, didCompleteTask: task, with: nil)
            }
            let status = response?.statusCode ?? 0
            guard isValidated, !(200..<300).contains(status) else { return data }
            let failure = AFError.responseValidationFailed(status: status)
            let result = await withCheckedContinuation { continuation in
                session.interceptor.retry(self, for: session, dueTo: failure) {
                    continuation.resume(returning: $0)
                }
            }
            switch result {
            case .retry: retryCount += 1
            case .doNotRetry: throw failure
            case .doNotRetryWithError(let error):
                throw AFError.requestRetryFailed(retryError: error)
            }
        }
    }

    private func exchange(_ request: URLRequest) async throws -> (Data, URLSessionTask) {
        try await withCheckedThrowingContinuation { continuation in
            let holder = TaskHolder()
            let task = session.sender.dataTask(with: request) { data, _, error in
                guard let data, let task = holder.task else {
                    return continuation.resume(throwing: error ?? URLError(.badServerResponse))
                }
                continuation.resume(returning: (data, task))
            }
            holder.task = task
            task.resume()
        }
    }
}

private final class TaskHolder: @unchecked Sendable {
    var task: URLSessionTask?
}

public struct DataTask: Sendable {
    fileprivate let request: DataRequest

    public var value: Data {
        get async throws { try await request.run() }
    }
}

public final class Session: @unchecked Sendable {
    fileprivate let interceptor: any RequestInterceptor
    fileprivate let monitors: [any EventMonitor]
    fileprivate let sender = URLSession(configuration: .ephemeral)

    public init(
        interceptor: any RequestInterceptor, redirectHandler: any RedirectHandler,
        eventMonitors: [any EventMonitor]
    ) {
        self.interceptor = interceptor
        monitors = eventMonitors
    }

    public func request(_ convertible: URLRequest) -> DataRequest { DataRequest(convertible, self) }
}
