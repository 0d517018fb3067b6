import Telemetry
import Testing

@Suite("Blocks of numbers")
struct CountBlockTests {}

extension CountBlockTests {
    @Test("count up from zero, each by itself")
    func counters() {
        let block = CountBlock(count: 3)
        block.add(0)
        block.add(2, 5)
        block.add(2)
        #expect((0..<block.count).map { block.value($0) } == [1, 0, 6])
    }

    @Test("hold present amounts, also below zero")
    func gauges() {
        let block = GaugeBlock(count: 2)
        block.add(0, 3)
        block.add(0, -5)
        block.set(1, 7)
        #expect((0..<block.count).map { block.value($0) } == [-2, 7])
    }
}
