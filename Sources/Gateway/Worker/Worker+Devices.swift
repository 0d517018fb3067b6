import AppAttest
import Background
import Bytes
import EventLoop
import Judgement
import KeyStore
import Settings

/// Questions about devices, which the control thread puts to Apple.
extension Worker {
    /// The exchange waits for the reply. Apple's services have time-outs of their own.
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

    /// The exchange goes on when the registry has kept what Apple says, or its time is over.
    func keep(
        _ bits: DeviceBits, of keyID: KeyID, for exchange: Exchange
    ) throws(Refusal) {
        try waitForRegistry(exchange, for: .keptBits)
        let number = exchange.number
        let mailbox = mailbox
        registry.keep(bits, of: keyID) { result in _ = mailbox.post(.bitsKept(number, result)) }
    }

    /// Whether the token was accepted before, or nil if the exchange will be resumed with that. A
    /// store that does not answer knows of none.
    func lookUpToken(for exchange: Exchange, _ id: Bytes16) -> Bool? {
        let number = exchange.number
        let life = exchange.site.settings.deviceCheck?.tokenMemory.milliseconds ?? 0
        var isInline = true
        var isSpent: Bool?
        counters.isTokenSpent(id, forMilliseconds: Int(life)) { [unowned self] answer in
            if isInline {
                isSpent = answer
            } else if let exchange = waiting.take(number, for: .findToken) {
                exchange.tokenWasLookedUp(isSpent: answer)
            }
        }
        isInline = false
        if isSpent == nil { wait(exchange, for: .tokenLookup) }
        return isSpent
    }

    /// The counter store's verdict, or nil if the exchange will be resumed with it.
    func spendToken(for exchange: Exchange, _ id: Bytes16) -> CounterVerdict? {
        let number = exchange.number
        let life = exchange.site.settings.deviceCheck?.tokenMemory.milliseconds ?? 0
        var isInline = true
        var verdict: CounterVerdict?
        counters.spendToken(id, forMilliseconds: Int(life)) { [unowned self] answer in
            if isInline {
                verdict = answer
            } else if let exchange = waiting.take(number, for: .spendToken) {
                exchange.tokenWasSpent(answer)
            }
        }
        isInline = false
        if verdict == nil { wait(exchange, for: .tokenSpending) }
        return verdict
    }
}
