import EventLoop
import Telemetry

/// Counters by a few names, such as those of key-exchange groups. Only one thread adds.
final class NamedCounts: Sendable {
    private let blocks = Locked<[String: CountBlock]>([:])

    func add(_ name: String) {
        let block = blocks.withLock { blocks in
            if let known = blocks[name] { return known }
            let fresh = CountBlock(count: 1)
            blocks[name] = fresh
            return fresh
        }
        block.add(0)
    }

    var counts: [String: UInt64] { blocks.withLock { $0.mapValues { $0.value(0) } } }
}
