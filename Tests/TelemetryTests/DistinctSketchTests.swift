import Telemetry
import Testing

@Suite("DistinctSketch")
struct DistinctSketchTests {}

extension DistinctSketchTests {
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
        #expect(sketch.count == 0)
        let grew = [sketch.add(hash(1)), sketch.add(hash(1))]
        #expect(grew == [true, false])
        #expect(sketch.count == 1)
    }

    @Test(
        "up to 31 are counted exactly", arguments: [2, 10, 31] as [UInt64])
    func exact(count: UInt64) {
        for start in 0..<200 as Range<UInt64> {
            #expect(sketch((start * 1000)..<(start * 1000 + count)).count == Int(count))
        }
    }

    @Test("some more are counted nearly exactly", arguments: [32, 40, 60] as [UInt64])
    func some(count: UInt64) {
        // On average over many sketches.
        var sum = 0
        for start in 0..<200 as Range<UInt64> {
            sum += sketch((start * 1000)..<(start * 1000 + count)).count
        }
        let mean = Double(sum) / 200
        #expect(abs(mean - Double(count)) < 0.05 * Double(count) + 0.2, "\(mean)")
    }

    @Test(
        "many are counted within a fifth",
        arguments: [100, 500, 1000, 10_000, 1_000_000] as [UInt64])
    func large(count: UInt64) {
        let estimate = Double(sketch(0..<count).count)
        #expect(abs(estimate - Double(count)) < 0.2 * Double(count), "\(estimate)")
    }

    @Test("the union of two has seen what either has")
    func union() {
        let all = sketch(0..<2000)
        let parts = sketch(0..<1200).union(sketch(1000..<2000))
        #expect(parts.count == all.count)
    }

    @Test("the union of one that counts exactly and one that does not has seen what either has")
    func mixedUnion() {
        let (few, many) = (sketch(0..<31), sketch(20..<90))
        let all = sketch(0..<90)
        #expect(few.union(many).bytes == all.bytes)
        #expect(many.union(few).bytes == all.bytes)
        #expect(sketch(0..<20).union(sketch(10..<31)).bytes == few.bytes)
        #expect(sketch(0..<20).union(sketch(20..<32)).bytes == sketch(0..<32).bytes)
    }

    @Test(
        "one is restored from its bytes: eight for each thing, or 256",
        arguments: [0, 1, 31, 32] as [UInt64])
    func bytes(count: UInt64) throws {
        let sketch = sketch(0..<count)
        #expect(sketch.bytes.count == (count < 32 ? Int(count) * 8 : 256))
        var restored = try #require(DistinctSketch(bytes: sketch.bytes))
        #expect(restored.bytes == sketch.bytes && restored.count == sketch.count)
        let grown = (0..<count).filter { restored.add(hash($0)) }
        #expect(grown.isEmpty)
    }

    @Test("other numbers of bytes are none of a sketch", arguments: [1, 7, 12, 255, 257, 264])
    func noBytes(count: Int) {
        #expect(DistinctSketch(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test("no hash raises a register above 57, so that none is restored above it")
    func ranks() {
        func restored(_ register: UInt8) -> DistinctSketch? {
            DistinctSketch(bytes: [UInt8](repeating: 57, count: 255) + [register])
        }
        #expect(restored(57) != nil)
        #expect(restored(58) == nil)
        #expect(restored(255) == nil)
    }
}
