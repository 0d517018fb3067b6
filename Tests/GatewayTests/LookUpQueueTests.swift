import Attestation
import Crypto
import EventLoop
import GatewayTesting
import KeyStore
import Testing

@testable import Gateway

@Suite("Look-ups of one turn")
final class LookUpQueueTests {
    private let loop: EventLoop
    private let registry = ScriptedRegistry()
    private let lookUps: LookUpQueue
    /// The numbers of the questions that were answered by the worker itself.
    private var answered: [UInt64] = []

    init() throws {
        loop = try EventLoop()
        lookUps = LookUpQueue(registry, loop: loop, mailbox: try Mailbox(countMax: 100))
        lookUps.answered = { [unowned self] lookUp, _ in answered.append(lookUp.question.number) }
    }
}

extension LookUpQueueTests {
    private func keyID(_ number: Int) -> KeyID {
        KeyID(digest: SHA256.hash([UInt8(number)]))
    }

    private func question(_ number: Int) -> KeyQuestion {
        KeyQuestion(
            number: UInt64(number), keyID: keyID(number), changeCount: 0, newsCount: 0,
            floorNewsNumber: 0)
    }

    private func add(_ count: Int) {
        for number in 0..<count {
            lookUps.add(LookUp(question: question(number), request: nil, startedAt: .now()))
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
        #expect(answered == [])
    }

    @Test("the registry looks while signatures are checked, and what they ask for leaves too")
    func order() {
        var before: [[Int]] = []
        let sending = TurnEndHook(loop: loop) { before.append(self.registry.lookUpCounts) }
        let working = TurnEndHook(loop: loop, stage: .work) {
            before.append(self.registry.lookUpCounts)
            self.add(1)
        }
        sending.schedule()
        working.schedule()
        add(2)
        loop.run()
        #expect(before == [[2], [2, 1]])
    }

    @Test("what becomes ready while eight are asked for is answered no earlier")
    func readyWithinTheCall() {
        registry.haveAtHand((0..<8).map(keyID), isTold: false)
        add(8)
        #expect(answered == [] && registry.lookUpCounts == [8])
    }

    @Test("what is at hand is answered when the turn ends, and the registry is asked for the rest")
    func atHand() {
        registry.haveAtHand((0..<20).filter { $0 != 3 }.map(keyID))
        // Not within the call, however many there are: whoever asks is not ready for an answer.
        add(12)
        #expect(answered == [] && registry.lookUpCounts == [])
        let working = TurnEndHook(loop: loop, stage: .work) {
            #expect(self.answered == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11])
        }
        working.schedule()
        loop.run()
        #expect(registry.lookUpCounts == [1])
        registry.haveAtHand([])
        add(9)
        loop.run()
        #expect(answered.count == 11 && registry.lookUpCounts == [1, 9])
    }

    @Test("what an answer asks for is looked up as well")
    func askedAgain() {
        registry.haveAtHand([keyID(0)])
        var leftCount = 2
        lookUps.answered = { [unowned self] lookUp, _ in
            answered.append(lookUp.question.number)
            leftCount -= 1
            if leftCount > 0 { add(1) }
        }
        add(1)
        loop.run()
        #expect(answered == [0, 0] && registry.lookUpCounts == [])
    }

    @Test("no question is put twice, even if nothing is at hand any more once answers are taken")
    func askedOnce() {
        registry.haveAtHand([keyID(0)])
        lookUps.answered = { [unowned self] lookUp, _ in
            answered.append(lookUp.question.number)
            registry.haveAtHand(nil)
            add(9)
        }
        add(2)
        loop.run()
        #expect(answered == [0] && registry.lookUpCounts == [1, 8, 1])
    }

    @Test("only a request whose key is not at hand waits, and only if it has not ended")
    func waits() throws {
        let stepped = try SteppedWorker()
        try stepped.begin()
        let exchange = try #require(stepped.connection.exchange)
        var waiting = 0
        lookUps.beginsWaiting = {
            #expect($0 === exchange)
            waiting += 1
        }
        let ended = Int(exchange.number) + 1
        registry.haveAtHand([keyID(ended)])
        for number in [ended - 1, ended, ended + 1] {
            lookUps.add(LookUp(question: question(number), request: exchange, startedAt: .now()))
        }
        loop.run()
        #expect(waiting == 1 && registry.lookUpCounts == [1] && answered == [UInt64(ended)])
    }
}
