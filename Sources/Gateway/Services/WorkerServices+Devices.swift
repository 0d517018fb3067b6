import Attestation
import Background
import Bytes
import EventLoop
import Judgement
import KeyStore
import Settings

/// Questions about devices, which the control thread asks Apple.
extension WorkerServices {
    /// Asks Apple; the request waits for the reply. Apple's services have time-outs of their own.
    func ask(_ kind: DeviceQuestion.Kind, _ token: String, for request: any WaitingRequest)
        throws(Refusal)
    {
        let number = request.number
        let mailbox = mailbox
        let question = DeviceQuestion(token: token, kind: kind) { reply in
            _ = mailbox.post(.deviceReplied(number, reply))
        }
        guard hub.devices.post(question) else {
            throw Refusal(.gatewayBusy, .deviceCheckQueue)
        }
        waiting.wait(request, for: .device)
    }

    /// Has the registry keep Apple's bits. The request goes on after that, or after its time.
    func keep(
        _ bits: DeviceBits, of keyID: KeyID, for request: any WaitingRequest
    ) throws(Refusal) {
        try waitForRegistry(request, for: .keptBits)
        let number = request.number
        let mailbox = mailbox
        registry.keep(bits, of: keyID) { result in _ = mailbox.post(.bitsKept(number, result)) }
    }

    /// True if the token was accepted before; false also if the store does not answer. Nil if the
    /// request will be told the answer.
    func lookUpToken(for request: any WaitingRequest, _ id: Bytes16) -> Bool? {
        let life = tokenMemory(request)
        return waiting.answer(for: request, as: .tokenLookup) {
            counters.isTokenSpent(id, forMilliseconds: life, reply: $0)
        } later: {
            $0.tokenWasLookedUp(isSpent: $1)
        }
    }

    /// The counter store's verdict, or nil if the request will be told it.
    func spendToken(for request: any WaitingRequest, _ id: Bytes16) -> CounterVerdict? {
        let life = tokenMemory(request)
        return waiting.answer(for: request, as: .tokenSpending) {
            counters.spendToken(id, forMilliseconds: life, reply: $0)
        } later: {
            $0.tokenWasSpent($1)
        }
    }

    private func tokenMemory(_ request: any WaitingRequest) -> Int {
        Int(request.site.settings.deviceCheck?.tokenMemory.milliseconds ?? 0)
    }
}
