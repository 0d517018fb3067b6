import Attestation
import EventLoop
import KeyStore

/// The look-ups of one turn of a worker's loop. When it ends, the records that the registry has at
/// hand are read on the worker's own thread, and the registry is asked for the rest.
///
/// Asking the registry wakes one of its threads and is answered by waking the worker, which takes
/// longer than reading a key. So the registry is asked for several at once: for eight as soon as
/// there are so many, if it has nothing at hand.
final class LookUpQueue {
    private let registry: any Registry
    private let mailbox: Mailbox<WorkerMessage>
    private var waiting: [LookUp] = []
    /// The questions that the registry is being asked.
    private var asked: [LookUp] = []
    private let turnEnd: TurnEndHook
    /// Takes the answers that are at hand; the others come through the mailbox.
    var answered: (LookUp, Result<KeyRecord?, StoreError>) -> Void = { _, _ in }
    /// Has a request wait for an answer that is not at hand.
    var beginsWaiting: (any WaitingRequest) -> Void = { _ in }

    init(_ registry: any Registry, loop: EventLoop, mailbox: Mailbox<WorkerMessage>) {
        self.registry = registry
        self.mailbox = mailbox
        turnEnd = TurnEndHook(loop: loop, stage: .ask)
        turnEnd.setBody { [unowned self] in ask() }
    }

    /// The number of questions that neither this worker nor the registry has looked at.
    var count: Int { waiting.count }

    /// Has the key looked up soon: at the latest at the end of the turn, but never within this
    /// call.
    func add(_ lookUp: LookUp) {
        waiting.append(lookUp)
        if waiting.count >= Self.askedCountMax, !registry.hasKeysAtHand {
            askElsewhere(waiting)
            waiting.removeAll(keepingCapacity: true)
        } else {
            turnEnd.schedule()
        }
    }

    private func ask() {
        guard !waiting.isEmpty else { return }
        // An answer may add to the list.
        swap(&waiting, &asked)
        let found = registry.readAtHand(asked.map(\.question.keyID))
        // The registry's thread works while the answers are taken here.
        askElsewhere(zip(asked, found).lazy.filter { $0.1 == .notAtHand }.map(\.0))
        for (lookUp, key) in zip(asked, found) {
            if case .read(let record) = key { answered(lookUp, .success(record)) }
        }
        asked.removeAll(keepingCapacity: true)
    }

    /// Asks the registry, whose answers come through the mailbox.
    private func askElsewhere(_ lookUps: some Sequence<LookUp>) {
        let mailbox = mailbox
        let lookUps = lookUps.compactMap { lookUp -> RegistryLookUp? in
            guard !lookUp.isLeft else { return nil }
            if let request = lookUp.request { beginsWaiting(request) }
            let question = lookUp.question
            return RegistryLookUp(question.keyID) { result in
                _ = mailbox.post(.keyLookedUp(question, result))
            }
        }
        if !lookUps.isEmpty { registry.find(lookUps) }
    }

    /// The number of keys that are asked for at once. The first waits for the heads of the others,
    /// some 10 us each, and for the work between them: a turn has at most 64 callbacks.
    private static let askedCountMax = 8
}

/// A question to the registry about a key, and the request that asks it.
struct LookUp {
    let question: KeyQuestion
    /// Nil if the request is among the ``WaitingRequests``.
    let request: (any WaitingRequest)?
    /// The time at which the request has asked.
    let startedAt: MonotonicInstant

    /// True if the request has ended without an answer.
    var isLeft: Bool { request.map { $0.number != question.number } ?? false }
}
