import EventLoop
import KeyStore

/// Does what the admin API is asked, on threads of their own: the registry by hand blocks. The
/// admin thread's.
final class AdministrationDesk {
    typealias Body = @Sendable () -> AdministrationAnswer

    /// More would only wait for each other, and each holds a connection to the registry.
    private static let callCountMax = 4
    /// As many as DeviceCheck answers while a registry is slow.
    private static let noteCountMax = 1000

    private let loop: EventLoop
    private var calls: [UInt64: BlockingCall<AdministrationAnswer>] = [:]
    private var lastNumber: UInt64 = 0
    /// What is to enter the audit log when there is room.
    private var notes: [(body: Body, handler: (AdministrationAnswer) -> Void)] = []

    init(loop: EventLoop) { self.loop = loop }

    /// False if as many calls are under way as may, or there is no thread. `handler` runs on the
    /// loop, later.
    func run(_ body: @escaping Body, handler: @escaping (AdministrationAnswer) -> Void) -> Bool {
        guard calls.count < Self.callCountMax else { return false }
        lastNumber += 1
        let number = lastNumber
        let call = try? BlockingCall(name: "administration", loop: loop, body) {
            [unowned self] answer in
            calls[number] = nil
            handler(answer)
            runNotes()
        }
        guard let call else { return false }
        calls[number] = call
        return true
    }

    /// Runs `body` once there is room for it. False if too many wait.
    func runLater(
        _ body: @escaping Body, handler: @escaping (AdministrationAnswer) -> Void
    ) -> Bool {
        guard notes.count < Self.noteCountMax else { return false }
        notes.append((body, handler))
        runNotes()
        return true
    }

    private func runNotes() {
        while let note = notes.first, run(note.body, handler: note.handler) {
            notes.removeFirst()
        }
    }
}
