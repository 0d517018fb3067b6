import Bytes
import Testing

@testable import Gateway

@Suite("Requests under way by address")
struct AddressTallyTests {
    private var tally = AddressTally()

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
}
