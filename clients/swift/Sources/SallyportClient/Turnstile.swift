import Foundation

/// Runs at most a given number of tasks at once, in the order in which they came.
actor Turnstile {
    private var freeCount: Int
    private var waiting: [(id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
    private var nextID: UInt64 = 0

    init(places: Int) { freeCount = places }

    /// Runs `body` as soon as there is a place. A caller that is cancelled while it waits leaves
    /// the line.
    func pass<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async throws {
        try Task.checkCancellation()
        if freeCount > 0 {
            freeCount -= 1
            return
        }
        let id = nextID
        nextID += 1
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                // It may have been cancelled on the way here, before there was anything to resume.
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    waiting.append((id, continuation))
                }
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
    }

    private func cancel(_ id: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func leave() {
        if waiting.isEmpty {
            freeCount += 1
        } else {
            waiting.removeFirst().continuation.resume()
        }
    }
}
