import Attestation
import Bytes
import KeyStore
import Redis

extension CounterCluster: CounterMasters {
    func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? {
        node(keyID: keyID, challenge: challenge)?.moment
    }

    /// A challenge that is bound to no key may be spent in vain.
    func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void) {
        let keySlot = RedisSlot(ofTag: calls.layout.tag(request.keyID))
        guard !request.challenge.isBound else {
            return run(calls.advance(request, .whole), in: keySlot, reply: reply)
        }
        let challengeSlot = RedisSlot(ofTag: calls.layout.tag(request.challenge.id))
        guard let moment = moment(keyID: request.keyID, challenge: request.challenge.id) else {
            return reply(.unavailable)
        }
        let count = calls.advance(request, .count, moment.incarnation)
        run(calls.advance(request, .spend), in: challengeSlot) { [weak self] verdict in
            guard verdict == .accepted else { return reply(verdict) }
            guard let self else { return reply(.unknown) }
            run(count, in: keySlot) { [weak self] verdict in
                // A client that is too fast may send the same request again later.
                if case .rateLimited = verdict {
                    self?.forget(count.names, in: challengeSlot)
                }
                // The challenge is spent, so the same assertion cannot come again.
                let isLeft = verdict == .unavailable || verdict == .full
                reply(isLeft ? .unknown : verdict)
            }
        }
    }

    func run(
        _ call: CounterScript.Call, by name: Bytes16, reply: @escaping (CounterVerdict) -> Void
    ) {
        run(call, in: RedisSlot(ofTag: calls.layout.tag(name)), reply: reply)
    }

    func ask(_ command: RedisCommand, by name: Bytes16, reply: @escaping (RedisOutcome) -> Void) {
        ask(command, in: RedisSlot(ofTag: calls.layout.tag(name)), reply: reply)
    }
}
