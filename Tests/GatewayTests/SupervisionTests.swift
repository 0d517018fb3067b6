import EventLoop
import Foundation
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Supervision")
struct SupervisionTests {
    private let receiver: NotifyReceiver
    private let stepped: SteppedWorker
    private let supervision: Supervision
    private let mailboxes: [Mailbox<WorkerMessage>]

    init() throws {
        receiver = try NotifyReceiver("@sallyport-\(UUID().uuidString)")
        stepped = try SteppedWorker()
        mailboxes = [try Mailbox(countMax: 8), try Mailbox(countMax: 8)]
        supervision = Supervision(
            Supervisor(socket: try NotifySocket(receiver.name), watchdog: .seconds(60)),
            hub: stepped.worker.services.hub, workers: mailboxes, reports: try Mailbox(countMax: 8))
    }
}

extension SupervisionTests {
    private func answer(_ worker: Int, _ number: UInt64) {
        supervision.workerAnswered(worker, number, site: stepped.worker.services.site)
    }

    @Test("a worker that does not answer lets the watchdog bark")
    func stuck() throws {
        supervision.reportLife()
        #expect(receiver.waiting() == ["WATCHDOG=1"])
        answer(0, 1)
        supervision.reportLife()
        supervision.reportLife()
        #expect(receiver.waiting() == nil)
        answer(1, 1)
        supervision.reportLife()
        #expect(receiver.waiting() == ["WATCHDOG=1"])
    }

    @Test("ready means every worker, after the last change")
    func ready() throws {
        supervision.workersChange(status: "first")
        answer(0, 1)
        #expect(receiver.waiting() == nil)
        supervision.workersChange(status: "second")
        answer(1, 1)
        answer(0, 2)
        #expect(receiver.waiting() == nil)
        answer(1, 2)
        #expect(receiver.waiting() == ["READY=1", "STATUS=second"])
        answer(1, 2)
        #expect(receiver.waiting() == nil)
    }

    @Test("a manager that is away harms nothing")
    func away() throws {
        let socket = try NotifySocket("/nowhere/notify")
        #expect(!socket.send(["READY=1"]))
        for name in ["", "@", "/", "relative", "@" + String(repeating: "a", count: 108)] {
            #expect(throws: IOError.self) { try NotifySocket(name) }
        }
    }
}
