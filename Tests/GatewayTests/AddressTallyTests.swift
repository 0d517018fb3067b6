import Bytes
import Testing

@testable import Gateway

@Suite("Requests under way by address")
struct AddressTallyTests {
    private var tally = AddressTally()
}

extension AddressTallyTests {
    /// How many more places an address gets of 1,024 when it takes all that it can.
    private mutating func takeAll(_ address: UInt64, share: Int = 100) -> Int {
        var count = 0
        while tally.take(Bytes16(word0: address, word1: 0), share: share, of: 1024) { count += 1 }
        return count
    }

    @Test("one that takes all it can leaves as many, and a share of its own is everybody's")
    mutating func shares() {
        #expect(takeAll(1) == 512)
        #expect(takeAll(2) == 256)
        #expect(takeAll(3) == 128)
        for address in 4..<10 as Range<UInt64> { #expect(takeAll(address) == 100) }
        #expect(takeAll(1) == 0)
        tally.giveBack(Bytes16(word0: 9, word1: 0))
        #expect(takeAll(9) == 1)
    }

    @Test("a place that is given back is free, and nobody is remembered for none")
    mutating func givenBack() {
        #expect(takeAll(1) == 512)
        for _ in 0..<512 { tally.giveBack(Bytes16(word0: 1, word1: 0)) }
        #expect(tally.addressCount == 0)
        #expect(takeAll(2) == 512)
    }

    @Test("counts many addresses as a dictionary does, in whatever order they come and go")
    mutating func manyAddresses() {
        var model: [Bytes16: Int] = [:]
        var held: [Bytes16] = []
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            if held.isEmpty || UInt8.random(in: 0...9, using: &random) < 5 {
                let address = Bytes16(word0: .random(in: 0..<300, using: &random), word1: 7)
                let isTaken = tally.take(address, share: 3, of: 100_000)
                // So many places are free that nobody is refused.
                #expect(isTaken)
                model[address, default: 0] += 1
                held.append(address)
            } else {
                let index = Int.random(in: held.indices, using: &random)
                held.swapAt(index, held.count - 1)
                let address = held.removeLast()
                tally.giveBack(address)
                model[address]? -= 1
                if model[address] == 0 { model[address] = nil }
            }
            #expect(tally.addressCount == model.count)
        }
        for address in held { tally.giveBack(address) }
        #expect(tally.addressCount == 0)
    }
}
