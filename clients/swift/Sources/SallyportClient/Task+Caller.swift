import Foundation

extension Task where Failure == any Error {
    /// Returns the task's value, or throws `CancellationError` as soon as the caller is cancelled.
    /// The task itself goes on for its other callers.
    func valueForCaller() async throws -> Success {
        let first = FirstResult<Success>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                first.give(to: continuation)
                Task<Void, Never> { first.take(await self.result) }
            }
        } onCancel: {
            first.cancel()
        }
    }
}

/// The first of several results, for one continuation.
private final class FirstResult<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var continuation: CheckedContinuation<Value, any Error>?
    private var result: Result<Value, any Error>?

    func give(to continuation: CheckedContinuation<Value, any Error>) {
        let known = lock.withLock {
            if result == nil { self.continuation = continuation }
            return result
        }
        if let known { continuation.resume(with: known) }
    }

    func cancel() { take(.failure(CancellationError())) }

    func take(_ result: Result<Value, any Error>) {
        let waiting: CheckedContinuation<Value, any Error>? = lock.withLock {
            guard self.result == nil else { return nil }
            self.result = result
            return continuation
        }
        waiting?.resume(with: result)
    }
}
