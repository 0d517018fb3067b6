public import AppAttest
import Bytes
public import EventLoop

/// The highest counters that this process has seen accepted lately, of every key: what must never
/// be accepted again, on its way to the registry.
///
/// One table for all workers. A counter store may forget a key that was idle, and may lose all that
/// it has; a worker's cached record is as old as its look-up. So a key stays here until the
/// registry has its highest counter, and every cache has been told; whoever still holds an older
/// record is told to look it up again.
///
/// A floor settles when it is a life of challenges old, so that a route with a window refuses
/// nobody who is only late.
public final class FloorTable: Sendable {
    /// Floors that the registry has by now. Told in the order of their numbers; a gap between two
    /// says that whoever hears it must look up every record again.
    public struct News: Sendable {
        public let number: UInt64
        public let floors: [(keyID: KeyID, counter: UInt32)]
    }

    static let shardCount = 32
    /// The most floors of one write to the registry.
    private static let batchCountMax = 256
    /// Floors of each shard on their way to the registry, which has other things to write.
    private static let offeredCountMax = 256
    /// Keys that one look at the table takes from each shard, at least.
    private static let stepCountMin = 1024
    /// All keys are looked at in so many looks.
    private static let lookCount = 16

    /// What names of its files begin with; nil for memory alone.
    private let base: String?
    private let file: FloorFile?
    private let fileFailure: IOError?
    /// The files of processes that have ended, with floors that found no room in ``file``.
    private let keptFiles = Locked<[RegularFile]>([])
    private let losses = Locked(Losses())
    private let shards: [Locked<FloorShard>]
    private let teller = Locked(Teller())

    private struct Losses {
        var last: [FloorFileError] = []
        var untold: [FloorFileError] = []
    }

    private struct Teller {
        var number: UInt64 = 0
        var handlers: [@Sendable (News) -> Void] = []
    }

    /// `lifeMilliseconds`: of a challenge, after which whoever comes with a lower counter is not
    /// only late. `base`: where it survives the process, in a file whose name begins so; nil for
    /// memory alone. No file keeps a gateway from its start: ``makeRoom()`` says why there is none,
    /// and floors of the registry hold without it.
    public convenience init(lifeMilliseconds: Int64 = 125_000, beside base: String? = nil) {
        self.init(
            lifeMilliseconds: lifeMilliseconds, beside: base,
            placeCountMax: FloorFile.placeCountMax)
    }

    package init(lifeMilliseconds: Int64, beside base: String?, placeCountMax: Int) {
        self.base = base
        var file: FloorFile?
        var failure: IOError?
        if let base {
            do throws(IOError) {
                file = try FloorFile(beside: base, placeCountMax: placeCountMax)
            } catch {
                failure = error
            }
        }
        self.file = file
        fileFailure = failure
        shards = (0..<Self.shardCount).map { [file] _ in
            Locked(FloorShard(life: max(0, lifeMilliseconds), file: file))
        }
    }

    /// Takes over what processes that have ended have left: at the start, and for a slow timer,
    /// because others may end later. `holds`: whether the counter store goes on with a key, and so
    /// knows itself what may still come late. Blocks.
    public func takeOver(now: Int64, holds: (KeyID) -> Bool = { _ in false }) {
        guard let base else { return }
        let inheritance = FloorInheritance(takingOver: base)
        losses.withLock { losses in
            if losses.last != inheritance.losses { losses.untold += inheritance.losses }
            losses.last = inheritance.losses
        }
        guard !inheritance.files.isEmpty else { return }
        var isStored = file != nil
        for (keyID, counter) in inheritance.floors {
            let kind: AcceptedCounter = holds(keyID) ? .heard : .settled
            shard(keyID).withLock { shard in
                shard.note(keyID, counter, as: kind, now: now)
                if !shard.isStored(keyID) { isStored = false }
            }
        }
        if isStored, sync() == nil {
            inheritance.remove()
        } else {
            // Locked: for the next process.
            keptFiles.withLock { $0 += inheritance.files }
        }
    }

    /// What could not be read, and why; each once.
    public func takeLosses() -> [FloorFileError] {
        losses.withLock { losses in
            defer { losses.untold = [] }
            return losses.untold
        }
    }

    /// Called, on any thread, for what the registry has.
    public func onNews(_ handler: @escaping @Sendable (News) -> Void) {
        teller.withLock { $0.handlers.append(handler) }
    }

    /// The number of the last news. A record that is looked up from now on holds all that they
    /// said.
    public var newsNumber: UInt64 { teller.withLock { $0.number } }

    /// The counters at or below which a key is refused, given that its record says `known` and was
    /// looked up at the news of this number, or has heard the news up to it. Nil if the record must
    /// be looked up again. `now` is in milliseconds of the monotonic clock.
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
    /// window or not. Whoever holds a record looks it up again, also if a request waits with it:
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

    /// The last call of a process that ends in good order: a file of which the registry has all
    /// goes.
    public func close() {
        if keyCount == 0 { file?.remove() }
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

    /// The highest counter of a key that this process has seen accepted, on any route. Nil if the
    /// registry has it, or the process has seen none.
    public func highest(of keyID: KeyID) -> UInt32? {
        shard(keyID).withLock { $0.highest(of: keyID) }
    }

    private func shard(_ keyID: KeyID) -> Locked<FloorShard> {
        shards[Int(truncatingIfNeeded: keyID.digest.word2 >> 59)]
    }
}
