package import AppleServices
package import Attestation
package import EventLoop
package import KeyStore

/// A question about a device, on its way to the control thread.
package struct DeviceQuestion: Sendable {
    package enum Kind: Sendable {
        /// Asks for a request if the device is genuine, and for an enrolment also for its bits.
        case judge(withBits: Bool)
        /// Asks for the operator's own services about a device of this environment.
        case ask(DeviceCheck.Question, AttestEnvironment)
        /// Sets the bits that are given and leaves the others as they are.
        case change(bit0: Bool?, bit1: Bool?, AttestEnvironment)
    }

    /// The token in base64, standard alphabet.
    package let token: String
    package let kind: Kind
    /// Called once on the control thread with the reply.
    package let reply: @Sendable (DeviceReply) -> Void

    package init(
        token: String, kind: Kind, reply: @escaping @Sendable (DeviceReply) -> Void
    ) {
        self.token = token
        self.kind = kind
        self.reply = reply
    }
}

package enum DeviceReply: Sendable {
    case judged(DeviceVerdict)
    case answered(DeviceCheck.Answer)
    /// The bits after a change.
    case changed(DeviceCheck.Bits)
    /// Apple is not asked: too many questions are under way, or the service does not run.
    case refused(String)
}

extension DeviceReply {
    /// The bits of the device, as far as Apple has told them.
    package var bits: DeviceBits? {
        switch self {
        case .changed(let bits), .answered(.bits(let bits)): bits.kept
        case .answered(.neverSet): .neverSet
        default: nil
        }
    }
}

/// Takes questions about devices from any thread to the service that asks Apple.
package final class DeviceCheckMailbox: Sendable {
    private let mailbox = Locked<Mailbox<DeviceQuestion>?>(nil)

    package init() {}

    /// Connects it: from now on questions go to `mailbox`.
    package func connect(_ mailbox: Mailbox<DeviceQuestion>) {
        self.mailbox.withLock { $0 = mailbox }
    }

    /// Posts a question. False if the service does not run, or if too many questions wait.
    package func post(_ question: DeviceQuestion) -> Bool {
        let mailbox = mailbox.withLock { $0 }
        return mailbox?.post(question) ?? false
    }

    /// The most questions that wait for the control thread's next turn.
    package static let countMax = 4096
}
