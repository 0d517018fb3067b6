import Attestation
import Background
import Bytes
import EventLoop
import Judgement
import KeyStore
import Settings

/// Questions about devices, which the control thread asks Apple.
extension Worker {
    /// Asks Apple; the exchange waits for the reply. Apple's services have time-outs of their own.
    func ask(_ kind: DeviceQuestion.Kind, _ token: String, for exchange: Exchange) throws(Refusal) {
        let number = exchange.number
        let mailbox = mailbox
        let question = DeviceQuestion(token: token, kind: kind) { reply in
            _ = mailbox.post(.deviceReplied(number, reply))
        }
        guard hub.devices.post(question) else {
            throw Refusal(.gatewayBusy, .deviceCheckQueue)
        }
        wait(exchange, for: .device)
    }

    /// Has the registry keep Apple's bits. The exchange goes on after that, or after its time.
    func keep(
        _ bits: DeviceBits, of keyID: KeyID, for exchange: Exchange
    ) throws(Refusal) {
        try waitForRegistry(exchange, for: .keptBits)
        let number = exchange.number
        let mailbox = mailbox
        registry.keep(bits, of: keyID) { result in _ = mailbox.post(.bitsKept(number, result)) }
    }

    /// True if the token was accepted before; false also if the store does not answer. Nil if the
    /// exchange will be resumed with the answer.
    func lookUpToken(for exchange: Exchange, _ id: Bytes16) -> Bool? {
        let life = tokenMemory(exchange)
        return waiting.answer(for: exchange, as: .tokenLookup) {
            counters.isTokenSpent(id, forMilliseconds: life, reply: $0)
        } later: {
            $0.prover.tokenWasLookedUp(isSpent: $1)
        }
    }

    /// The counter store's verdict, or nil if the exchange will be resumed with it.
    func spendToken(for exchange: Exchange, _ id: Bytes16) -> CounterVerdict? {
        let life = tokenMemory(exchange)
        return waiting.answer(for: exchange, as: .tokenSpending) {
            counters.spendToken(id, forMilliseconds: life, reply: $0)
        } later: {
            $0.prover.tokenWasSpent($1)
        }
    }

    private func tokenMemory(_ exchange: Exchange) -> Int {
        Int(exchange.site.settings.deviceCheck?.tokenMemory.milliseconds ?? 0)
    }
}
