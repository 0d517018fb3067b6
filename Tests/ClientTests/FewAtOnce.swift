import Testing

/// Lets few asynchronous tests be under way at once.
///
/// Such a test gives its thread to others whenever it waits. Without this, all of them start a
/// gateway before the first one ends, and a hundred idle gateways take a third of two processors.
///
/// It is for suites, but the runner ends the process if what a suite hands on to its tests is no
/// ``TestTrait``.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        await Self.places.take()
        do {
            try await body()
        } catch {
            await Self.places.giveBack()
            throw error
        }
        await Self.places.giveBack()
    }

    private static let places = Places(count: 4)

    private actor Places {
        private var freeCount: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(count: Int) { freeCount = count }

        func take() async {
            if freeCount > 0 {
                freeCount -= 1
            } else {
                await withCheckedContinuation { waiting.append($0) }
            }
        }

        /// Gives the place to the test that has waited longest.
        func giveBack() {
            if waiting.isEmpty { freeCount += 1 } else { waiting.removeFirst().resume() }
        }
    }
}

extension Trait where Self == FewAtOnce {
    static var fewAtOnce: Self { FewAtOnce() }
}
