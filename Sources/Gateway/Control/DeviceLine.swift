import AppAttest
import AppleServices
import EventLoop
import KeyStore

/// A question about a device, on its way to the control thread.
struct DeviceQuestion: Sendable {
    enum Kind: Sendable {
        /// Of a request: is it a genuine device? Of an enrolment: and what are its bits?
        case judge(withBits: Bool)
        /// Of the operator's own services, about a device of this environment.
        case ask(DeviceCheck.Question, AttestEnvironment)
        /// Sets the bits that are given and leaves the others as they are.
        case change(bit0: Bool?, bit1: Bool?, AttestEnvironment)
    }

    /// Base64, standard alphabet.
    let token: String
    let kind: Kind
    /// Called once, on the control thread; hands the reply over.
    let reply: @Sendable (DeviceReply) -> Void
}

enum DeviceReply: Sendable {
    case judged(DeviceVerdict)
    case answered(DeviceCheck.Answer)
    /// What the bits are after a change.
    case changed(DeviceCheck.Bits)
    /// Apple is not asked: too much is under way, or nobody is there to ask.
    case refused(String)
}

extension DeviceReply {
    /// What Apple has said that the bits of the device are.
    var bits: DeviceBits? {
        switch self {
        case .changed(let bits), .answered(.bits(let bits)): bits.kept
        case .answered(.neverSet): .neverSet
        default: nil
        }
    }
}

/// Takes questions about devices from any thread to the desk that puts them to Apple.
final class DeviceLine: Sendable {
    private let mailbox = Locked<Mailbox<DeviceQuestion>?>(nil)

    /// From now on questions arrive there.
    func connect(_ mailbox: Mailbox<DeviceQuestion>) { self.mailbox.withLock { $0 = mailbox } }

    /// False where nobody is there, or too many wait.
    func post(_ question: DeviceQuestion) -> Bool {
        let mailbox = mailbox.withLock { $0 }
        return mailbox?.post(question) ?? false
    }

    /// Questions that wait for the control thread's next turn.
    static let countMax = 4096
}
