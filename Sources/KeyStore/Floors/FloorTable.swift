public import AppAttest
import Bytes
public import EventLoop

/// The highest counters that this process has seen accepted lately, of every key: what must never
/// be accepted again, on its way to the registry.
///
/// One table for all workers. A counter store may forget a key that was idle, and may lose all that
/// it has; a worker's cached record is as old as its look-up. So a key stays here until the
/// registry has its highest counter, and every cache has been told; whoever still holds an older
/// record is told to look it up anew.
///
/// A floor settles when it is a life of challenges old, so that a route with a window refuses
/// nobody who is only late.
public final class FloorTable: Sendable {
    /// Floors that the registry has by now. Told in the order of their numbers; a gap between two
    /// says that whoever hears it must look up every record anew.
    public struct News: Sendable {
        public let number: UInt64
        public let floors: [(keyID: KeyID, counter: UInt32)]
    }

    static let shardCount = 32
    /// Of one write of the registry.
    private static let batchCountMax = 256
    /// Floors of each shard on their way to the registry, which has other things to write.
    private static let offeredCountMax = 256
    /// Keys that one look at the table takes from each shard, at least.
    private static let stepCountMin = 1024
    /// All keys are looked at in so many looks.
    private static let lookCount = 16

    /// Why what the last process had accepted could not be read; nil where it was.
    public let loss: FloorFileError?
    private let file: FloorFile?
    private let fileFailure: IOError?
    private let shards: [Locked<FloorShard>]
    private let teller = Locked(Teller())

    private struct Teller {
        var number: UInt64 = 0
        var handlers: [@Sendable (News) -> Void] = []
    }

    /// `lifeMilliseconds`: of a challenge, after which whoever comes with a lower counter is not
    /// only late. `file`: where it survives the process; nil for memory alone, with a
    /// `fileFailure` where there should be one.
    public init(
        lifeMilliseconds: Int64 = 125_000, file: FloorFile? = nil, fileFailure: IOError? = nil,
        loss: FloorFileError? = nil
    ) {
        self.file = file
        self.fileFailure = fileFailure
        self.loss = loss
        shards = (0..<Self.shardCount).map { _ in
            Locked(FloorShard(life: max(0, lifeMilliseconds), file: file))
        }
    }

    /// Called, on any thread, for what the registry has.
    public func onNews(_ handler: @escaping @Sendable (News) -> Void) {
        teller.withLock { $0.handlers.append(handler) }
    }

    /// Of the last news: a record that is looked up from now on holds all that they said.
    public var newsNumber: UInt64 { teller.withLock { $0.number } }

    /// Below and at what counters of a key are refused, where its record says `known`: a record
    /// that was looked up when the news had this number, or has heard them up to it. Nil where it
    /// must be looked up anew. `now`: milliseconds of the monotonic clock.
    public func floor(
        of keyID: KeyID, known: UInt32, asOf number: UInt64, now: Int64
    ) -> CounterFloor? {
        shard(keyID).withLock { $0.floor(of: keyID, known: known, asOf: number, now: now) }
    }

    /// A counter was accepted.
    public func note(
        _ keyID: KeyID, _ counter: UInt32, as kind: AcceptedCounter = .heard, now: Int64
    ) {
        shard(keyID).withLock { $0.note(keyID, counter, as: kind, now: now) }
    }

    /// The counter store has lost what it knew: nothing that was accepted comes again, inside a
    /// window or not. Whoever holds a record looks it up anew, also where a request waits with it:
    /// others have accepted counters that only the registry knows.
    public func settleAll() {
        let number = teller.withLock { teller in
            teller.number += 2
            let news = News(number: teller.number, floors: [])
            for handler in teller.handlers { handler(news) }
            return teller.number
        }
        for shard in shards { shard.withLock { $0.settleAll(in: number) } }
    }

    /// Gives the registry what it does not have: for a slow timer. What is too much at once waits
    /// for the next time, but for `isWhole`.
    public func raise(in registry: any Registry, isWhole: Bool = false, now: Int64) {
        var due: [(keyID: KeyID, counter: UInt32)] = []
        for shard in shards {
            due += shard.withLock { shard in
                let share = shard.keyCount / Self.lookCount
                let stepCount = isWhole ? shard.keyCount : max(Self.stepCountMin, share)
                let offeredCountMax = isWhole ? shard.keyCount : Self.offeredCountMax
                return shard.due(
                    stepCount: stepCount, offeredCountMax: offeredCountMax, now: now)
            }
        }
        while !due.isEmpty {
            let batch = Array(due.suffix(Self.batchCountMax))
            due.removeLast(batch.count)
            registry.raiseFloors(batch) { [self] result in
                if case .success = result { settle(batch) } else { takeBack(batch) }
            }
        }
    }

    /// Makes room in the file for keys to come; for a slow timer. What it returns keeps counters of
    /// further keys in memory alone.
    public func makeRoom() -> IOError? {
        guard let file else { return fileFailure }
        return file.makeRoom()
    }

    /// Whether there is anything to ``sync()`` since this was asked last.
    public func takeUnsynced() -> Bool {
        shards.reduce(false) { $1.withLock { $0.takeStored() } || $0 }
    }

    /// Brings to the disk what was accepted so far. Blocks. Returns why it failed.
    public func sync() -> IOError? {
        do throws(IOError) { try file?.sync() } catch { return error }
        return nil
    }

    /// The registry has them: first the caches are told, then keys may leave.
    private func settle(_ floors: [(keyID: KeyID, counter: UInt32)]) {
        // Under the lock, so that all hear news in the order of their numbers.
        let number = teller.withLock { teller in
            teller.number += 1
            let news = News(number: teller.number, floors: floors)
            for handler in teller.handlers { handler(news) }
            return teller.number
        }
        for floor in floors {
            shard(floor.keyID).withLock { $0.offerEnded(floor, isRaised: true, in: number) }
        }
    }

    private func takeBack(_ floors: [(keyID: KeyID, counter: UInt32)]) {
        for floor in floors {
            shard(floor.keyID).withLock { $0.offerEnded(floor, isRaised: false, in: 0) }
        }
    }

    /// Keys in memory.
    public var keyCount: Int { shards.reduce(0) { $0 + $1.withLock { $0.keyCount } } }

    /// Every key with its highest counter: what ``FloorFile`` holds.
    package var contents: [(keyID: KeyID, counter: UInt32)] {
        shards.flatMap { $0.withLock { $0.contents } }
    }

    package func highest(of keyID: KeyID) -> UInt32? {
        shard(keyID).withLock { $0.highest(of: keyID) }
    }

    private func shard(_ keyID: KeyID) -> Locked<FloorShard> {
        shards[Int(truncatingIfNeeded: keyID.digest.word2 >> 59)]
    }
}
