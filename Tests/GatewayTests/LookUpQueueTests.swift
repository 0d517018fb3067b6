import AppAttest
import Crypto
import EventLoop
import GatewayTesting
import KeyStore
import Testing

@testable import Gateway

@Suite("Look-ups of one turn")
struct LookUpQueueTests {
    private let loop: EventLoop
    private let registry = ScriptedRegistry()
    private let lookUps: LookUpQueue

    init() throws {
        loop = try EventLoop()
        lookUps = LookUpQueue(registry, loop: loop)
    }

    private func add(_ count: Int) {
        for number in 0..<count {
            let keyID = KeyID(digest: SHA256.hash([UInt8(number)]))
            lookUps.add(RegistryLookUp(keyID) { _ in })
        }
    }

    @Test("the registry is asked for eight at once, and for the rest when the turn ends")
    func grouped() {
        add(19)
        #expect(registry.lookUpCounts == [8, 8])
        loop.run()
        #expect(registry.lookUpCounts == [8, 8, 3])
        add(1)
        loop.run()
        #expect(registry.lookUpCounts == [8, 8, 3, 1])
        add(8)
        loop.run()
        #expect(registry.lookUpCounts == [8, 8, 3, 1, 8])
    }

    @Test("the registry looks while signatures are checked, and what they ask for leaves too")
    func order() {
        var before: [[Int]] = []
        let sending = TurnEndHook(loop: loop) { before.append(registry.lookUpCounts) }
        let working = TurnEndHook(loop: loop, stage: .work) {
            before.append(registry.lookUpCounts)
            add(1)
        }
        sending.schedule()
        working.schedule()
        add(2)
        loop.run()
        #expect(before == [[2], [2, 1]])
    }
}
