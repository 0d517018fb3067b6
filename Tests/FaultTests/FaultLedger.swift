import Foundation
import GatewayTesting

/// A request that was sent, as whoever listened has it.
struct CapturedCall: Sendable {
    let call: SignedCall
    let keyID: String
}

/// What clients, attackers and operators of a fault run know, and what must never happen.
final class FaultLedger: @unchecked Sendable {
    /// How soon every gateway that runs refuses a revoked key: what is promised, and no more.
    private static let revocationGrace: TimeInterval = 1

    private struct Books {
        var signed: Set<String> = []
        var accepted: Set<String> = []
        var captured: [CapturedCall] = []
        var acknowledged: Set<String> = []
        var expendable: Set<String> = []
        /// Keys whose revocation was ordered, and when it was acknowledged.
        var ordered: Set<String> = []
        var revoked: [String: Date] = [:]
        /// A gateway stands still, or until when one did: it heard nothing meanwhile.
        var isStill = false
        var wentOnAt = Date.distantPast
        var violations: [String] = []
        var verdicts: [String: Int] = [:]
        var faults: [String: Int] = [:]
        var triedCount = 0
        var replayedCount = 0
        var refusedCount = 0
        var forgedCount = 0
        var longestRecovery: (seconds: TimeInterval, fault: String) = (0, "none")
    }

    /// Guards every member; broadcast whenever somebody has done something.
    private let changed = NSCondition()
    private var books = Books()
    private var actionCount = 0
    private var isClosed = false

    // MARK: time

    var isOver: Bool { changed.withLock { isClosed } }

    /// Clients and attackers stop.
    func close() {
        changed.withLock {
            isClosed = true
            changed.broadcast()
        }
    }

    func progress() {
        changed.withLock {
            actionCount += 1
            changed.broadcast()
        }
    }

    /// Waits until so many more things were done, at most until `limit`.
    func wait(actions count: Int, until limit: Date) {
        changed.withLock {
            let goal = actionCount + count
            while actionCount < goal, !isClosed { guard changed.wait(until: limit) else { break } }
        }
    }

    /// Lets everybody go on until then.
    func wait(until limit: Date) {
        changed.withLock { while changed.wait(until: limit) {} }
    }

    // MARK: notes

    func expect(_ isFine: Bool, _ text: @autoclosure () -> String) {
        guard !isFine else { return }
        let text = text()
        changed.withLock { books.violations.append(text) }
    }

    func noteFault(_ name: String) { changed.withLock { books.faults[name, default: 0] += 1 } }

    func noteRecovery(_ seconds: TimeInterval, from fault: String) {
        changed.withLock {
            if seconds > books.longestRecovery.seconds { books.longestRecovery = (seconds, fault) }
        }
    }

    func noteAcknowledged(_ keyID: String, isExpendable: Bool = true) {
        changed.withLock {
            books.acknowledged.insert(keyID)
            if isExpendable { books.expendable.insert(keyID) }
        }
    }

    func noteSigned(_ call: SignedCall) {
        changed.withLock { _ = books.signed.insert(call.bodyText) }
    }

    /// From now on the call can be replayed by anybody.
    func capture(_ call: SignedCall, key keyID: String) {
        changed.withLock { books.captured.append(CapturedCall(call: call, keyID: keyID)) }
    }

    func noteForged() { changed.withLock { books.forgedCount += 1 } }

    /// What a gateway answered to a request that was sent at `start`.
    func note(
        _ answer: HTTPMessage, to call: SignedCall, key keyID: String, sentAt start: Date,
        isReplay: Bool
    ) {
        let outcome = answer.outcome
        let action = answer.action
        changed.withLock {
            books.verdicts[outcome, default: 0] += 1
            if isReplay { books.replayedCount += 1 } else { books.triedCount += 1 }
            if isReplay, [401, 403].contains(answer.status) { books.refusedCount += 1 }
            if action == "attest_again" || answer.code == "key_unknown" {
                books.violations.append("told to attest again: \(outcome)")
            }
            guard answer.status == 200 else { return }
            if !books.accepted.insert(call.bodyText).inserted {
                books.violations.append("answered with 200 twice: \(call.bodyText)")
            }
            if let since = books.revoked[keyID], !books.isStill,
                start.timeIntervalSince(max(since, books.wentOnAt)) > Self.revocationGrace
            {
                books.violations.append("accepted after its revocation: \(call.bodyText)")
            }
        }
    }

    /// A gateway stands still during `body`: its second begins when it goes on.
    func standingStill(_ body: () -> Void) {
        changed.withLock { books.isStill = true }
        body()
        changed.withLock {
            books.isStill = false
            books.wentOnAt = Date()
        }
    }

    // MARK: revocations

    /// A key whose revocation the caller is about to order.
    func takeExpendableKey() -> String? {
        changed.withLock {
            guard let keyID = books.expendable.popFirst() else { return nil }
            books.ordered.insert(keyID)
            return keyID
        }
    }

    func noteRevoked(_ keyID: String) { changed.withLock { books.revoked[keyID] = Date() } }

    /// Whether it may be refused as revoked.
    func isBeingRevoked(_ keyID: String) -> Bool {
        changed.withLock { books.ordered.contains(keyID) }
    }

    // MARK: what is in the books

    /// Something that was captured, sooner something recent.
    func captured(using generator: inout SeededGenerator) -> CapturedCall? {
        changed.withLock {
            let isRecent = Bool.random(using: &generator)
            return books.captured.suffix(isRecent ? 20 : .max).randomElement(using: &generator)
        }
    }

    var captured: [CapturedCall] { changed.withLock { books.captured } }
    var signed: Set<String> { changed.withLock { books.signed } }
    var accepted: Set<String> { changed.withLock { books.accepted } }
    var acknowledged: Set<String> { changed.withLock { books.acknowledged } }
    var revoked: Set<String> { changed.withLock { Set(books.revoked.keys) } }
    var violations: [String] { changed.withLock { books.violations } }
    var faultCount: Int { changed.withLock { books.faults.values.reduce(0, +) } }
    var refusedCount: Int { changed.withLock { books.refusedCount } }

    var summary: String {
        changed.withLock {
            let faults = books.faults.sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            let verdicts = books.verdicts.sorted { $0.key < $1.key }
                .map { "\($0.key): \($0.value)" }.joined(separator: ", ")
            let recovery = (books.longestRecovery.seconds * 10).rounded() / 10
            return """
                \(books.faults.values.reduce(0, +)) faults (\(faults)); \
                \(books.triedCount) requests tried, \(books.accepted.count) accepted; \
                \(books.replayedCount) replays, \(books.refusedCount) refused; \
                \(books.forgedCount) forgeries; \(books.acknowledged.count) enrolments, \
                \(books.revoked.count) revocations; longest recovery \(recovery) s \
                (\(books.longestRecovery.fault)); \
                \(books.violations.count) violations [\(verdicts)]
                """
        }
    }
}
