import Bytes
import EventLoop
import KeyStore
import Redis

/// The charges of one worker on counts in Redis.
final class QuotaCalls {
    private let loop: EventLoop
    private let layout: RedisKeyLayout
    private let masters: any CounterMasters
    private let known: KnownQuotas
    /// True if a master may have forgotten charges, and could not be told yet.
    private var isRecallDue = false
    private var recalled: ArraySlice<QuotaCount> = []

    /// The counts of a recall that are on their way at a time, so that charges of requests do not
    /// wait behind many.
    private static let recallCountMax = 64

    init(
        loop: EventLoop, layout: RedisKeyLayout, masters: any CounterMasters, known: KnownQuotas
    ) {
        self.loop = loop
        self.layout = layout
        self.masters = masters
        self.known = known
    }

    /// `reply` is called once, perhaps before this returns.
    ///
    /// What an answer has cost and what is given back is kept if Redis does not answer, and goes
    /// there with the next charge of its count: `.unknown`. It is lost if this process ends before,
    /// or if others have charged as much meanwhile.
    func charge(_ charge: QuotaCharge, reply: @escaping (QuotaVerdict) -> Void) {
        let node = masters.node(keyID: nil, challenge: charge.count.name)
        let incarnation =
            node?.incarnation.map { UInt32(truncatingIfNeeded: $0.value) } ?? known.ownIncarnation
        let command = QuotaScript.command(
            charge, name: layout.quota(charge.count), in: incarnation,
            known: known.history(of: charge.count), wall: loop.wallMilliseconds)
        masters.ask(command, by: charge.count.name) { [known] outcome in
            if case .reply(let answer) = outcome,
                let (verdict, history) = QuotaScript.verdict(answer)
            {
                known.note(history, of: charge.count)
                return reply(verdict)
            }
            switch charge.change {
            case .take, .look: reply(Self.verdict(outcome))
            case .giveBack(0): reply(.unknown)
            case .add, .giveBack, .reset:
                known.noteUnanswered(charge, in: incarnation)
                reply(.unknown)
            }
        }
    }

    private static func verdict(_ outcome: RedisOutcome) -> QuotaVerdict {
        switch outcome {
        case .unavailable: .unavailable
        case .full: .full
        case .reply(.error(let line)): RedisServerError(line) == .other ? .unknown : .unavailable
        case .reply, .unknown: .unknown
        }
    }

    // MARK: after a loss

    /// A master came back under another incarnation.
    func lost() { isRecallDue = true }

    /// Sends what is known after a loss, once a master can be asked.
    func stateChanged() {
        guard isRecallDue, masters.isConnected else { return }
        isRecallDue = false
        recalled = known.takeForRecall(at: loop.now)[...]
        for _ in 0..<Self.recallCountMax { recallNext() }
    }

    private func recallNext() {
        guard let count = recalled.popFirst() else { return }
        charge(QuotaCharge(.look, of: count, limit: 1)) { [weak self] verdict in
            guard let self else { return }
            switch verdict {
            case .granted, .exhausted: recallNext()
            // The connection is lost or busy. Each later charge brings its own count along.
            case .unavailable, .full, .unknown: recalled = []
            }
        }
    }
}
