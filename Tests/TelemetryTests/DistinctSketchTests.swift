import Telemetry
import Testing

@Suite("DistinctSketch")
struct DistinctSketchTests {
    /// SplitMix64.
    private func hash(_ number: UInt64) -> UInt64 {
        var mixed = number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private func sketch(_ numbers: Range<UInt64>) -> DistinctSketch {
        var sketch = DistinctSketch()
        for number in numbers { _ = sketch.add(hash(number)) }
        return sketch
    }

    @Test("an empty one has seen nothing, and the same thing twice is one")
    func few() {
        var sketch = DistinctSketch()
        #expect(sketch.estimate == 0)
        let grew = [sketch.add(hash(1)), sketch.add(hash(1))]
        #expect(grew == [true, false])
        #expect(sketch.estimate == 1)
    }

    @Test(
        "few are counted nearly exactly, many within a fifth", arguments: [3, 10, 30] as [UInt64])
    func small(count: UInt64) {
        // On average over many sketches.
        var sum = 0
        for start in 0..<200 as Range<UInt64> {
            sum += sketch((start * 1000)..<(start * 1000 + count)).estimate
        }
        let mean = Double(sum) / 200
        #expect(abs(mean - Double(count)) < 0.05 * Double(count) + 0.2, "\(mean)")
    }

    @Test(
        "many are counted within a fifth",
        arguments: [100, 500, 1000, 10_000, 1_000_000] as [UInt64])
    func large(count: UInt64) {
        let estimate = Double(sketch(0..<count).estimate)
        #expect(abs(estimate - Double(count)) < 0.2 * Double(count), "\(estimate)")
    }

    @Test("the union of two has seen what either has")
    func union() {
        let all = sketch(0..<2000)
        let parts = sketch(0..<1200).union(sketch(1000..<2000))
        #expect(parts.estimate == all.estimate)
    }
}
