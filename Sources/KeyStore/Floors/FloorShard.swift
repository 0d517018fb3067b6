import Attestation
import Bytes

/// The highest accepted counters of a share of the keys; only ever touched under its lock.
struct FloorShard: Sendable {
    private let life: Int64
    /// Nil if there is no file.
    private let freePlaces: FloorPlaces?
    private var memory: FloorMemory?
    private var index = KeyIndex()
    private var keys: [KeyID] = []
    private var highest: [UInt32] = []
    /// The counters up to which a lower one is refused, because it cannot be merely late any more.
    private var settled: [UInt32] = []
    /// The highest counter as it was at ``pendingAt``: it settles when it is a life old.
    private var pending: [UInt32] = []
    private var pendingAt: [Int64] = []
    private var raisedAt: [Int64] = []
    /// The highest counter that the registry has accepted and no counter store has heard of.
    private var unheard: [UInt32] = []
    /// The floors that the registry has, as far as this table has told it.
    private var raised: [UInt32] = []
    /// True if a floor is on its way to the registry.
    private var isOffered: [Bool] = []
    private var offeredCount = 0
    /// The places of keys in the files; -1 for none.
    private var places: [Int32] = []
    /// The keys whose highest counter is stored in memory that outlives the process, as far as
    /// there is such memory.
    private var isInMemory: [Bool] = []
    /// True if the highest counter has changed since ``takeChanges(all:)``.
    private var isChanged: [Bool] = []
    private var changedKeys: [KeyID] = []
    private var clearedPlaces: [Int32] = []
    /// The time of the oldest change in ``changedKeys``; later than any if there is none.
    private(set) var changedSince = Int64.max
    /// True if ``takeChanges(all:)`` has something to return.
    var hasChanged: Bool { changedSince < .max || !clearedPlaces.isEmpty }
    /// For each group of keys, the number of the news after which its keys left last.
    private var leftIn = KeyGroupNumbers()
    private var sweepPosition = 0
    /// The latest time that was passed in. Threads come with times a little apart.
    private var clock = Int64.min

    init(life: Int64, places: FloorPlaces?) {
        self.life = life
        freePlaces = places
    }

    /// Stores the known counters, and all from now on, in `memory`.
    mutating func move(to memory: FloorMemory) {
        self.memory = memory
        for entry in keys.indices { storeInMemory(entry) }
    }

    var keyCount: Int { keys.count }

    func highest(of keyID: KeyID) -> UInt32? {
        index.position(of: keyID, in: keys).map { highest[$0] }
    }

    /// False if the key lacks its place in the files.
    func hasPlace(_ keyID: KeyID) -> Bool {
        index.position(of: keyID, in: keys).map { places[$0] >= 0 } ?? true
    }

    /// The floor of a key whose record says `known`, and was read after news `number`. Nil if
    /// the key may have left since: the registry knows more than the record.
    mutating func floor(
        of keyID: KeyID, known: UInt32, asOf number: UInt64, now: Int64
    ) -> CounterFloor? {
        clock = max(clock, now)
        guard leftIn[keyID] <= number else { return nil }
        guard let entry = index.position(of: keyID, in: keys) else {
            return CounterFloor(settled: known, strict: known)
        }
        settle(entry)
        let floor = max(known, settled[entry])
        return CounterFloor(settled: floor, strict: max(floor, unheard[entry]))
    }

    mutating func note(_ keyID: KeyID, _ counter: UInt32, as kind: AcceptedCounter, now: Int64) {
        clock = max(clock, now)
        let entry = index.position(of: keyID, in: keys) ?? add(keyID)
        settle(entry)
        if counter > highest[entry] {
            if pending[entry] <= settled[entry] {
                pending[entry] = counter
                pendingAt[entry] = clock
            }
            highest[entry] = counter
            raisedAt[entry] = clock
            store(entry)
        }
        switch kind {
        case .heard: break
        case .unheard: unheard[entry] = max(unheard[entry], counter)
        case .settled: settled[entry] = max(settled[entry], counter)
        }
    }

    /// Refuses whatever was accepted from now on, also inside a window, and outdates every record
    /// that is older than news `number`.
    mutating func settleAll(in number: UInt64) {
        for entry in keys.indices { settled[entry] = highest[entry] }
        leftIn.raiseAll(to: number)
    }

    /// Outdates every record that is older than news `number`.
    mutating func forgetRecords(in number: UInt64) { leftIn.raiseAll(to: number) }

    /// Floors that the registry does not have, of the next `stepCount` entries, as long as fewer
    /// than `offeredCountMax` are on their way.
    mutating func due(
        stepCount: Int, offeredCountMax: Int, now: Int64
    ) -> [(keyID: KeyID, counter: UInt32)] {
        clock = max(clock, now)
        var floors: [(keyID: KeyID, counter: UInt32)] = []
        for _ in 0..<min(stepCount, keys.count) {
            guard offeredCount < offeredCountMax else { break }
            if sweepPosition >= keys.count { sweepPosition = 0 }
            settle(sweepPosition)
            storeIfMissing(sweepPosition)
            if !isOffered[sweepPosition], settled[sweepPosition] > raised[sweepPosition] {
                isOffered[sweepPosition] = true
                offeredCount += 1
                floors.append((keys[sweepPosition], settled[sweepPosition]))
            }
            sweepPosition += 1
        }
        return floors
    }

    /// The registry has the floor, or could not take it. A key without anything newer leaves the
    /// table.
    mutating func offerEnded(
        _ floor: (keyID: KeyID, counter: UInt32), isRaised: Bool, in number: UInt64
    ) {
        guard let entry = index.position(of: floor.keyID, in: keys) else { return }
        if isOffered[entry] { offeredCount -= 1 }
        isOffered[entry] = false
        guard isRaised else { return }
        raised[entry] = max(raised[entry], floor.counter)
        guard highest[entry] <= raised[entry] else { return }
        // A loss in between has raised it further.
        leftIn.raise(floor.keyID, to: number)
        remove(entry)
    }

    private mutating func settle(_ entry: Int) {
        if clock - raisedAt[entry] >= life {
            settled[entry] = highest[entry]
            pending[entry] = highest[entry]
        } else if pending[entry] > settled[entry], clock - pendingAt[entry] >= life {
            settled[entry] = pending[entry]
            pending[entry] = highest[entry]
            pendingAt[entry] = clock
        }
    }

    /// The changes since the last call, for the copy on the disk. With `all`, everything that is
    /// known, for a new copy.
    mutating func takeChanges(all: Bool) -> FloorDisk.Changes {
        var changes = FloorDisk.Changes(cleared: clearedPlaces)
        // A key that has changed may have left since.
        let entries =
            all
            ? Array(keys.indices)
            : changedKeys.compactMap { index.position(of: $0, in: keys) }.filter { isChanged[$0] }
        changes.stored.reserveCapacity(entries.count)
        for entry in entries {
            isChanged[entry] = false
            guard places[entry] > 0 else { continue }
            changes.stored.append((places[entry], keys[entry], highest[entry]))
        }
        changedKeys.removeAll(keepingCapacity: changedKeys.count < 1024)
        clearedPlaces = []
        changedSince = .max
        return changes
    }

    private mutating func store(_ entry: Int) {
        guard let freePlaces else { return }
        if places[entry] < 0 { places[entry] = freePlaces.take() }
        guard places[entry] >= 0 else { return }
        storeInMemory(entry)
        guard !isChanged[entry] else { return }
        isChanged[entry] = true
        changedKeys.append(keys[entry])
        changedSince = min(changedSince, clock)
    }

    private mutating func storeInMemory(_ entry: Int) {
        guard let memory else { return }
        isInMemory[entry] = memory.store(highest[entry], of: keys[entry], at: places[entry])
    }

    /// Stores the entry if there was no room for it when it was accepted.
    private mutating func storeIfMissing(_ entry: Int) {
        if places[entry] < 0 { store(entry) } else if !isInMemory[entry] { storeInMemory(entry) }
    }

    private mutating func add(_ keyID: KeyID) -> Int {
        keys.append(keyID)
        highest.append(0)
        settled.append(0)
        pending.append(0)
        pendingAt.append(clock)
        raisedAt.append(clock)
        unheard.append(0)
        raised.append(0)
        isOffered.append(false)
        places.append(-1)
        isInMemory.append(memory == nil)
        isChanged.append(false)
        index.insert(keys.count - 1, in: keys)
        return keys.count - 1
    }

    /// Removes an entry. The last entry moves into the gap, so that the arrays stay dense.
    private mutating func remove(_ entry: Int) {
        if places[entry] > 0 {
            memory?.clear(places[entry])
            clearedPlaces.append(places[entry])
        }
        index.remove(entry, in: keys)
        let last = keys.count - 1
        if entry != last { index.move(last, to: entry, in: keys) }
        keys.removeDensely(at: entry)
        highest.removeDensely(at: entry)
        settled.removeDensely(at: entry)
        pending.removeDensely(at: entry)
        pendingAt.removeDensely(at: entry)
        raisedAt.removeDensely(at: entry)
        unheard.removeDensely(at: entry)
        raised.removeDensely(at: entry)
        isOffered.removeDensely(at: entry)
        places.removeDensely(at: entry)
        isInMemory.removeDensely(at: entry)
        isChanged.removeDensely(at: entry)
    }
}
