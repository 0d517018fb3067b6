public import Attestation
import Bytes
import Crypto
public import EventLoop
import Synchronization

/// The highest counters that this process has seen accepted lately, of every key. They must never
/// be accepted again, and are on their way to the registry.
///
/// One table serves all workers. A counter store may forget a key that was idle, and may lose all
/// that it has; a worker's cached record is as old as its look-up. So a key stays here until the
/// registry has its highest counter, and every cache has been told; a cache that still holds an
/// older record is told to look it up again.
///
/// A floor settles when it is a life of challenges old, so that a route with a window does not
/// refuse a request that is only late.
public final class FloorTable: Sendable {
    /// Floors that the registry has by now, told in the order of their numbers. After a gap between
    /// two numbers, a cache must look up every record again.
    public struct News: Sendable {
        public let number: UInt64
        public let floors: [(keyID: KeyID, counter: UInt32)]
    }

    static let shardCount = 32
    /// The most floors of one write to the registry.
    private static let batchCountMax = 256
    /// The most floors of a shard on their way to the registry, which has other things to write.
    private static let offeredCountMax = 256
    /// The least number of keys that one look at the table takes from each shard.
    private static let stepCountMin = 1024
    /// The number of looks in which all keys are looked at.
    private static let lookCount = 16

    /// The times after a loss of the counter store, in milliseconds, at which every record is
    /// looked up again, because other gateways may still give the registry what they had accepted
    /// before. Until the first, a gateway of some thousand keys has given all; until the last, any
    /// gateway has.
    private static let looksAfterLoss: [Int64] = [3_000, 20_000]

    private let location: FloorLocation?
    private let placeCountMax: Int
    /// Nil if floors are kept in memory alone.
    private let places: FloorPlaces?
    private let copy: FloorCopy?
    /// Nil if there is to be no file in memory.
    private let memoryName: FloorFileName?
    private let memory = Locked<FloorMemory?>(nil)
    /// The paths of this process's files.
    private let paths: [String]
    private let behind = Atomic(false)
    /// True if a shard may have changes that the copy on the disk lacks.
    private let hasNews = Atomic(false)
    private let losses = Locked(Losses())
    private let shards: [Locked<FloorShard>]
    private let teller = Locked(Teller())
    private let pendingLooks = Locked<[Int64]>([])

    private struct Losses {
        var last: [FloorFileError] = []
        var untold: [FloorFileError] = []
    }

    private struct Teller {
        var number: UInt64 = 0
        var handlers: [@Sendable (News) -> Void] = []
    }

    /// `lifeMilliseconds`: the life of a challenge, after which a client with a lower counter is
    /// not merely late. `location`: the places of the files in which the table survives the
    /// process; nil for none. A file that cannot be made does not keep a gateway from starting:
    /// ``makeRoom()`` and ``lag(now:)`` report it, and the floors of the registry hold without a
    /// file.
    public convenience init(
        lifeMilliseconds: Int64 = 125_000, at location: FloorLocation? = nil
    ) {
        self.init(
            lifeMilliseconds: lifeMilliseconds, at: location,
            placeCountMax: FloorForm.placeCountMax)
    }

    package init(lifeMilliseconds: Int64, at location: FloorLocation?, placeCountMax: Int) {
        self.location = location
        self.placeCountMax = placeCountMax
        let number = RandomBytes.word()
        memoryName = location.flatMap { location in
            location.hasMemory
                ? location.memoryBases.first.map { FloorFileName(base: $0, number: number) } : nil
        }
        let places = location.map { _ in FloorPlaces(countMax: placeCountMax) }
        self.places = places
        let diskName = location.map { FloorFileName(base: $0.diskBase, number: number) }
        paths = [memoryName?.path, diskName?.path].compactMap(\.self)
        if let diskName, let places {
            copy = FloorCopy(FloorDisk(diskName, rights: location?.rights), places: places)
        } else {
            copy = nil
        }
        shards = (0..<Self.shardCount).map { _ in
            Locked(FloorShard(life: max(0, lifeMilliseconds), places: places))
        }
        // A failure is reported, and tried again, by ``makeRoom()``.
        try? renewMemory()
    }

    /// Makes the file in memory, with all floors that are known.
    private func renewMemory() throws(IOError) {
        guard let memoryName else { return }
        let fresh = try FloorMemory(
            memoryName, rights: location?.rights, placeCountMax: placeCountMax)
        for shard in shards { shard.withLock { $0.move(to: fresh) } }
        try fresh.publish()
        memory.withLock { $0 = fresh }
    }

    /// Takes over the files of processes that have ended: at the start, and now and then, because
    /// others may end later. Blocks.
    ///
    /// - Parameters:
    ///   - isStart: also reads what living processes have accepted. They may have taken over from
    ///     processes that have ended, and the registry may not have those counters yet.
    ///   - holds: true if the counter store goes on with a key, and so knows itself which counters
    ///     may still come late.
    public func takeOver(
        now: Int64, isStart: Bool = false, holds: (KeyID) -> Bool = { _ in false }
    ) {
        guard let location else { return }
        let inheritance = FloorInheritance(
            takingOver: location, except: paths, readsLiving: isStart)
        losses.withLock { losses in
            if losses.last != inheritance.losses { losses.untold += inheritance.losses }
            losses.last = inheritance.losses
        }
        for (keyID, counter) in inheritance.floors {
            let kind: AcceptedCounter = holds(keyID) ? .heard : .settled
            change(shard(keyID)) { $0.note(keyID, counter, as: kind, now: now) }
        }
        guard !inheritance.files.isEmpty else { return }
        copy?.inherit(inheritance)
        bringToDisk(now: now, isWhole: true)
    }

    /// Returns the files that could not be read, with the reasons; each once.
    public func takeLosses() -> [FloorFileError] {
        losses.withLock { losses in
            defer { losses.untold = [] }
            return losses.untold
        }
    }

    /// Sets the handler for floors that the registry has. It is called on any thread.
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

    /// Notes that a counter was accepted.
    public func note(
        _ keyID: KeyID, _ counter: UInt32, as kind: AcceptedCounter = .heard, now: Int64
    ) {
        change(shard(keyID)) { $0.note(keyID, counter, as: kind, now: now) }
    }

    /// Changes a shard so that the copy on the disk follows.
    private func change<Result>(
        _ shard: Locked<FloorShard>, _ body: (inout FloorShard) -> Result
    ) -> Result {
        let (result, hasChanged) = shard.withLock { shard in (body(&shard), shard.hasChanged) }
        // Read first, so that workers do not take the flag from each other.
        if hasChanged, !hasNews.load(ordering: .relaxed) {
            hasNews.store(true, ordering: .releasing)
        }
        return result
    }

    /// The counter store has lost what it knew: no counter that was accepted may be accepted again,
    /// inside a window or not. Every record has to be looked up again, also if a request waits with
    /// it: other gateways have accepted counters that only the registry knows, or will know soon.
    public func settleAll(now: Int64) {
        let number = tellOfAll()
        for shard in shards { shard.withLock { $0.settleAll(in: number) } }
        pendingLooks.withLock { $0 = Self.looksAfterLoss.map { now + $0 } }
    }

    /// Has every cache look up all records again. Returns the number of that news.
    private func tellOfAll() -> UInt64 {
        teller.withLock { teller in
            teller.number += 2
            let news = News(number: teller.number, floors: [])
            for handler in teller.handlers { handler(news) }
            return teller.number
        }
    }

    private func lookAgainAfterLoss(now: Int64) {
        let isDue = pendingLooks.withLock { looks in
            guard let first = looks.first, first <= now else { return false }
            looks.removeAll { $0 <= now }
            return true
        }
        guard isDue else { return }
        let number = tellOfAll()
        for shard in shards { shard.withLock { $0.forgetRecords(in: number) } }
    }

    /// Gives the registry what it does not have: for a slow timer. Floors beyond the bounds of one
    /// write wait for the next time, unless `isWhole`.
    public func raise(in registry: any Registry, isWhole: Bool = false, now: Int64) {
        lookAgainAfterLoss(now: now)
        var due: [(keyID: KeyID, counter: UInt32)] = []
        for shard in shards {
            due += change(shard) { shard in
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

    /// Makes room in memory for keys to come, and makes the file there again if it is gone; for a
    /// slow timer. Returns the reason why counters of further keys, or of all, are not in that
    /// file; a kill then loses those that are not on the disk yet.
    public func makeRoom() -> IOError? {
        guard let places else { return nil }
        if places.isFull {
            return IOError(
                paths.first ?? "floors", .tooLarge(byteCountMax: FloorForm.byteCountMax))
        }
        do throws(IOError) {
            if memory.withLock({ $0?.isKept }) != true { try renewMemory() }
        } catch {
            return error
        }
        return memory.withLock(\.self)?.makeRoom(placeCount: places.count)
    }

    /// The path of the copy on the disk; nil if there is none.
    public var diskPath: String? { copy?.path }

    /// Brings the copy on the disk up to date: its file at each call, the disk behind it once a
    /// second, or now if `isWhole`. The file is made again if it was removed. Blocks for as long as
    /// the disk does; one thread at a time.
    public func bringToDisk(now: Int64, isWhole: Bool = false) {
        copy?.update(
            now: now, isWhole: isWhole, take: news,
            holds: { inheritance in
                inheritance.floors.allSatisfy { floor in
                    shard(floor.keyID).withLock { $0.hasPlace(floor.keyID) }
                }
            })
    }

    private func news(all: Bool) -> FloorCopy.News {
        var news = FloorCopy.News()
        guard hasNews.exchange(false, ordering: .acquiringAndReleasing) || all else { return news }
        for shard in shards {
            let (changes, since) = shard.withLock { shard in
                let since = shard.changedSince
                return (shard.takeChanges(all: all), since)
            }
            news.since = min(news.since, since)
            news.changes.stored += changes.stored
            news.changes.cleared += changes.cleared
        }
        return news
    }

    /// The age of the oldest accepted counter that is not on the disk, in milliseconds: 0 if all
    /// are, or if there is no copy on a disk.
    public func lag(now: Int64) -> Int64 {
        guard let copy else { return 0 }
        let since = shards.reduce(copy.unsyncedSince) { oldest, shard in
            min(oldest, shard.withLock { $0.changedSince })
        }
        return since == .max ? 0 : max(0, now - since)
    }

    /// The reason why the disk did not take what was written last; nil if it did, or if it has not
    /// answered.
    public var diskFailure: IOError? { copy?.failure }

    /// True if the copy on the disk is so old that ``setBehind(_:)`` was called. For every request.
    public var isBehind: Bool { behind.load(ordering: .relaxed) }

    public func setBehind(_ isBehind: Bool) { behind.store(isBehind, ordering: .relaxed) }

    /// Ends the table of a process that ends in good order. A file whose floors are all in the
    /// registry is removed.
    public func close(now: Int64) {
        bringToDisk(now: now, isWhole: true)
        guard keyCount == 0 else { return }
        copy?.remove()
        memory.withLock { $0?.remove() }
    }

    /// The registry has these floors: first the caches are told, then keys may leave.
    private func settle(_ floors: [(keyID: KeyID, counter: UInt32)]) {
        // Under the lock, so that all caches are told in the order of the numbers.
        let number = teller.withLock { teller in
            teller.number += 1
            let news = News(number: teller.number, floors: floors)
            for handler in teller.handlers { handler(news) }
            return teller.number
        }
        for floor in floors {
            change(shard(floor.keyID)) { $0.offerEnded(floor, isRaised: true, in: number) }
        }
    }

    private func takeBack(_ floors: [(keyID: KeyID, counter: UInt32)]) {
        for floor in floors {
            change(shard(floor.keyID)) { $0.offerEnded(floor, isRaised: false, in: 0) }
        }
    }

    /// The number of keys in memory.
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
