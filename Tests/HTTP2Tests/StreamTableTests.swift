import HTTP2
import Testing

@Suite("Streams by their ids")
struct StreamTableTests {}

extension StreamTableTests {
    @Test("A table says the same as a dictionary, whatever is added and removed")
    func sameAsDictionary() {
        // Knuth's sequence of 64 bits, whose upper ones are good enough here.
        var state: UInt64 = 1
        func draw(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        // Few ids for many steps: places are shared, and what stands behind a free one moves up.
        for idMax in [3, 9, 40, 1000] {
            var table = StreamTable<Int>()
            var known: [Int32: Int] = [:]
            for step in 0..<2000 {
                let id = Int32(1 + draw(idMax))
                switch draw(4) {
                case 0: #expect(table.remove(id) == known.removeValue(forKey: id))
                case 1:
                    table[id] = nil
                    known[id] = nil
                case 2 where known[id] == nil:
                    table.add(step, id)
                    known[id] = step
                default:
                    table[id] = step
                    known[id] = step
                }
                #expect(table.count == known.count)
                #expect(table[id] == known[id])
            }
            for id in 1...Int32(idMax) { #expect(table[id] == known[id]) }
            #expect(table.streams.sorted() == known.values.sorted())
            var visited: [Int] = []
            table.forEach { visited.append($0) }
            #expect(visited.sorted() == known.values.sorted())
            table.removeAll()
            #expect(table.isEmpty && table.streams.isEmpty)
        }
    }

    @Test("Ids that a peer has chosen to share a place are found, and zero is none")
    func sharedPlace() {
        var table = StreamTable<Int32>()
        let ids = (0..<100).map { Int32(1 + $0 * 1 << 20) } + [Int32.max]
        for id in ids { table[id] = id }
        #expect(ids.allSatisfy { table[$0] == $0 })
        for id in ids.reversed() { #expect(table.remove(id) == id) }
        #expect(table.isEmpty)
        #expect(table[0] == nil && table.remove(0) == nil)
    }
}
