import AppAttest
import Bytes
import EventLoop
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
        waiting.insert(exchange, withinNanoseconds: nil)
    }

    /// The exchange goes on when the registry has kept what Apple says, or its time is over.
    func keep(
        _ bits: DeviceBits, of keyID: KeyID, for exchange: Exchange
    ) throws(Refusal) {
        try waitForRegistry(exchange, isWrite: true)
        let number = exchange.number
        let mailbox = mailbox
        registry.keep(bits, of: keyID) { result in _ = mailbox.post(.bitsKept(number, result)) }
    }

    /// Whether the token was accepted before, or nil where the exchange will be resumed with that.
    /// A store that does not answer knows of none.
    func lookUpToken(for exchange: Exchange, _ id: Bytes16) -> Bool? {
        let number = exchange.number
        let life = exchange.site.settings.deviceCheck?.tokenMemory.milliseconds ?? 0
        var isInline = true
        var isSpent: Bool?
        counters.isTokenSpent(id, forMilliseconds: Int(life)) { [unowned self] answer in
            if isInline {
                isSpent = answer
            } else if let exchange = waiting.take(number) {
                exchange.device?.isSpent = answer
                exchange.resume()
            }
        }
        isInline = false
        if isSpent == nil { waiting.insert(exchange, withinNanoseconds: nil) }
        return isSpent
    }

    /// The counter store's verdict, or nil where the exchange will be resumed with it.
    func spendToken(for exchange: Exchange, _ id: Bytes16) -> CounterVerdict? {
        let number = exchange.number
        let life = exchange.site.settings.deviceCheck?.tokenMemory.milliseconds ?? 0
        var isInline = true
        var verdict: CounterVerdict?
        counters.spendToken(id, forMilliseconds: Int(life)) { [unowned self] answer in
            if isInline {
                verdict = answer
            } else if let exchange = waiting.take(number) {
                exchange.device?.spending = answer
                exchange.resume()
            }
        }
        isInline = false
        if verdict == nil { waiting.insert(exchange, withinNanoseconds: nil) }
        return verdict
    }
}
