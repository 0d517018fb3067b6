import EventLoop
import Judgement

/// The last refusals of one worker. Its thread writes, and any thread may read.
///
/// A reader holds the lock for as long as it takes to copy a few references, so that no worker
/// waits for a page.
final class RefusalRing: Sendable {
    private let recent = Locked(RecentRefusals())

    func add(_ record: RefusalRecord) { recent.withLock { $0.add(record) } }

    /// The records, the oldest first.
    var records: [RefusalRecord] {
        let recent = recent.withLock { $0 }
        return recent.records
    }
}

/// Up to 200 refusals, the oldest first, in which no flood drowns the others.
///
/// When there is no room, the most frequent kind (reason and route) gives way, and in that kind the
/// oldest record of the client that has the most of it. So each of `n` kinds keeps its last `200/n`
/// records, and each of `m` clients its last of these by the same rule: a client that sends a
/// thousand bad requests pushes out mostly records of its own.
///
/// This work is done for every refused request of a flood. Kinds and clients are therefore compared
/// by their hashes, whose seed is secret; two that are equal by accident share their room.
struct RecentRefusals: Sendable {
    private struct Entry {
        let record: RefusalRecord
        let kind: Int
        let client: Int
    }

    private var entries: [Entry] = []
    private var countByKind: [Int: Int] = [:]
    /// The number of records by kind and client.
    private var countByClient: [Int: [Int: Int]] = [:]

    var records: [RefusalRecord] { entries.map(\.record) }

    mutating func add(_ record: RefusalRecord) {
        var kind = Hasher()
        kind.combine(record.reason)
        kind.combine(record.route)
        let entry = Entry(
            record: record, kind: kind.finalize(), client: record.clientBlock.hashValue)
        if entries.count == Self.countMax { makeRoom(for: entry) }
        entries.append(entry)
        countByKind[entry.kind, default: 0] += 1
        countByClient[entry.kind, default: [:]][entry.client, default: 0] += 1
    }

    private mutating func makeRoom(for newest: Entry) {
        // Of equally frequent kinds, that of the new record gives way.
        let largest = countByKind.max { left, right in
            (left.value, left.key == newest.kind ? 1 : 0)
                < (right.value, right.key == newest.kind ? 1 : 0)
        }
        guard let (kind, count) = largest, let most = countByClient[kind]?.values.max(),
            let index = entries.firstIndex(where: {
                $0.kind == kind && countByClient[kind]?[$0.client] == most
            })
        else { return }
        let client = entries.remove(at: index).client
        countByKind[kind] = count == 1 ? nil : count - 1
        countByClient[kind]?[client] = most == 1 ? nil : most - 1
        if count == 1 { countByClient[kind] = nil }
    }

    /// The refusals of several workers together, by the same rule.
    static func merged(_ rings: [[RefusalRecord]]) -> [RefusalRecord] {
        let all = rings.joined().sorted {
            ($0.seconds, $0.nanoseconds) < ($1.seconds, $1.nanoseconds)
        }
        var recent = RecentRefusals()
        for record in all { recent.add(record) }
        return recent.records
    }

    /// The number of refusals, as many as a person looks through; some 200 KiB for each worker, at
    /// most 270.
    static let countMax = 200
}
