import AppAttest
package import AppleServices
import Attestation
package import EventLoop
import HTTPSClient
package import KeyStore
import Policy
package import Settings

/// Asks Apple questions about devices, with the rate and the number at once that the configuration
/// allows. Belongs to the control thread.
package final class DeviceCheckService {
    private let loop: EventLoop
    private let apple: AppleService
    private var settings: DeviceCheckSettings?
    private var receiver: MailboxReceiver<DeviceQuestion>?
    private var judgedCount = 0
    /// The rate of requests' questions. The bucket holds a second's worth.
    private var bucket = TokenBucket()
    /// Changes of bits, one after another because Apple cannot compare and set.
    private var changes: [DeviceQuestion] = []
    private var isChanging = false

    /// The most changes that wait. Each holds a token of some kilobytes.
    private static let changeCountMax = 1000

    package init(loop: EventLoop, apple: AppleService, mailbox questions: DeviceCheckMailbox) throws
    {
        self.loop = loop
        self.apple = apple
        let mailbox = try Mailbox<DeviceQuestion>(countMax: DeviceCheckMailbox.countMax)
        receiver = mailbox.attach(to: loop) { [unowned self] in take($0) }
        questions.connect(mailbox)
    }

    package func use(_ settings: DeviceCheckSettings?) { self.settings = settings }

    private func take(_ question: DeviceQuestion) {
        guard let settings, let client = apple.client else {
            return question.reply(Self.refusal("unconfigured", of: question))
        }
        switch question.kind {
        case .judge(let withBits):
            judge(question, withBits ? .query : .validate, settings, client)
        case .ask(let kind, let environment):
            client.ask(
                kind, deviceToken: question.token, teamID: settings.teamID,
                environment: environment
            ) { question.reply(.answered($0)) }
        case .change:
            guard changes.count < Self.changeCountMax else {
                return question.reply(.refused("busy"))
            }
            changes.append(question)
            changeNext()
        }
    }

    private static func refusal(_ label: String, of question: DeviceQuestion) -> DeviceReply {
        if case .judge = question.kind { .judged(.unjudged(label)) } else { .refused(label) }
    }

    // MARK: requests

    private func judge(
        _ question: DeviceQuestion, _ kind: DeviceCheck.Question, _ settings: DeviceCheckSettings,
        _ client: AppleClient
    ) {
        guard judgedCount < settings.inFlightCountMax, client.freeCountOfDevices > 0 else {
            return question.reply(
                .judged(.busy(.inFlight)))
        }
        let interval = settings.rate.spacingNanoseconds
        let wait = bucket.take(
            interval: interval, depth: max(interval, 1_000_000_000), now: loop.now.nanoseconds)
        if let wait {
            return question.reply(
                .judged(.busy(.rate, retryAfterSeconds: wait / 1_000_000_000 + 1)))
        }
        judgedCount += 1
        ask(question, kind, settings.teamID, settings.environments[...], client)
    }

    /// Asks one environment after another, until one knows the token.
    private func ask(
        _ question: DeviceQuestion, _ kind: DeviceCheck.Question, _ teamID: String,
        _ environments: ArraySlice<AttestEnvironment>, _ client: AppleClient
    ) {
        guard let environment = environments.first else {
            return end(question, .badToken)
        }
        client.ask(
            kind, deviceToken: question.token, teamID: teamID, environment: environment
        ) { [self] answer in
            switch answer {
            case .done: end(question, .genuine(environment, bits: nil))
            case .bits(let bits): end(question, .genuine(environment, bits: bits.kept))
            case .neverSet: end(question, .genuine(environment, bits: .neverSet))
            case .badToken: ask(question, kind, teamID, environments.dropFirst(), client)
            default: end(question, Self.verdict(without: answer))
            }
        }
    }

    /// Apple's rate limit does not let a token pass, because a client can use the limit up by
    /// sending junk. Neither does a question that Apple rejects: its cause may be the token, the
    /// one part of the question that a stranger chooses.
    private static func verdict(without answer: DeviceCheck.Answer) -> DeviceVerdict {
        if case .badRequest = answer { return busy(answer) }
        switch answer.failure {
        case .throttled(let retryAfter):
            return .busy(
                .apple(label: answer.label),
                retryAfterSeconds: retryAfter.map { UInt64(max(1, $0.components.seconds)) })
        case .unexpected, .unanswered(.tooManyInFlight): return busy(answer)
        default: return .unjudged(answer.label)
        }
    }

    private static func busy(_ answer: DeviceCheck.Answer) -> DeviceVerdict {
        .busy(.apple(label: answer.label))
    }

    private func end(_ question: DeviceQuestion, _ verdict: DeviceVerdict) {
        judgedCount -= 1
        question.reply(.judged(verdict))
    }

    // MARK: changes

    private func changeNext() {
        guard !isChanging, !changes.isEmpty else { return }
        let question = changes.removeFirst()
        guard case .change(let bit0, let bit1, let environment) = question.kind,
            let settings, let client = apple.client
        else {
            question.reply(.refused("unconfigured"))
            return changeNext()
        }
        isChanging = true
        let device = Device(
            token: question.token, teamID: settings.teamID, environment: environment)
        let end: (DeviceReply) -> Void = { [self] reply in
            isChanging = false
            question.reply(reply)
            changeNext()
        }
        // If both bits are given, nothing need be read first.
        if let bit0, let bit1 {
            return write(DeviceCheck.Bits(bit0: bit0, bit1: bit1), device, client, end)
        }
        client.ask(
            .query, deviceToken: device.token, teamID: device.teamID,
            environment: device.environment
        ) { [self] answer in
            var bits: DeviceCheck.Bits
            switch answer {
            case .bits(let found): bits = found
            case .neverSet: bits = DeviceCheck.Bits(bit0: false, bit1: false)
            default: return end(.answered(answer))
            }
            if let bit0 { bits.bit0 = bit0 }
            if let bit1 { bits.bit1 = bit1 }
            write(bits, device, client, end)
        }
    }

    private struct Device {
        let token: String
        let teamID: String
        let environment: AttestEnvironment
    }

    private func write(
        _ bits: DeviceCheck.Bits, _ device: Device, _ client: AppleClient,
        _ end: @escaping (DeviceReply) -> Void
    ) {
        client.ask(
            .update(bit0: bits.bit0, bit1: bits.bit1), deviceToken: device.token,
            teamID: device.teamID, environment: device.environment
        ) { answer in
            guard case .done = answer else { return end(.answered(answer)) }
            end(.changed(DeviceCheck.Bits(bit0: bits.bit0, bit1: bits.bit1)))
        }
    }
}

extension DeviceCheck.Bits {
    /// The bits in the form of a key's record.
    package var kept: DeviceBits { DeviceBits(bit0: bit0, bit1: bit1) }
}

extension DeviceBits {
    /// The bits of a device for which Apple has none: neither is set.
    package static let neverSet = DeviceBits(bit0: false, bit1: false)
}
