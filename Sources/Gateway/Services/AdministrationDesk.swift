import EventLoop
import KeyStore

/// Carries out calls of the admin API on threads of their own, because the access to the registry
/// by hand blocks. Belongs to the admin thread.
final class AdministrationDesk {
    typealias Body = @Sendable () -> AdministrationAnswer

    /// The most calls at once. More would only wait for each other, and each holds a connection to
    /// the registry.
    private static let callCountMax = 4
    /// The most notes that wait: as many as DeviceCheck answers while a registry is slow.
    private static let noteCountMax = 1000

    private let loop: EventLoop
    private var calls: [UInt64: BlockingCall<AdministrationAnswer>] = [:]
    private var lastNumber: UInt64 = 0
    /// The notes that enter the audit log when there is room.
    private var notes: [(body: Body, handler: (AdministrationAnswer) -> Void)] = []

    init(loop: EventLoop) { self.loop = loop }

    /// Runs a call. False if too many calls are under way, or if there is no thread. `handler` is
    /// called on the loop, later.
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
