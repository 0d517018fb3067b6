import EventLoop

/// Keeps the copy of a ``FloorTable`` on the disk up to date, and knows how far it is.
final class FloorCopy: Sendable {
    /// The part of the table that the disk does not have yet.
    struct News: Sendable {
        var changes = FloorDisk.Changes()
        /// The time of the oldest change, in milliseconds of the monotonic clock.
        var since = Int64.max
    }

    private struct State: Sendable {
        /// The time of the oldest change that was taken from the table and is not on the disk.
        var unsyncedSince = Int64.max
        var syncedAt: Int64?
        /// The reason why the last attempt failed, and its time.
        var failure: IOError?
        var failedAt: Int64 = 0
        /// Places that become free once the disk does not name their keys any more.
        var cleared: [Int32] = []
        /// The files of processes that have ended, with floors that the copy does not have yet.
        /// They stay, locked, until it has them.
        var inherited: [FloorInheritance] = []
        /// Inherited files that could not be removed.
        var left: [RegularFile] = []

        /// True if a sync is due. One a second bounds what a power cut loses; more would wear the
        /// disk for little.
        func isSyncDue(now: Int64) -> Bool {
            syncedAt.map { now - $0 >= FloorCopy.pauseMilliseconds } ?? true
        }

        func isPausing(now: Int64) -> Bool {
            failure != nil && now - failedAt < FloorCopy.pauseMilliseconds
        }
    }

    let path: String
    /// Locked for as long as the disk takes: no worker ever takes this lock.
    private let disk: Locked<FloorDisk>
    private let state = Locked(State())
    private let places: FloorPlaces

    private static let pauseMilliseconds: Int64 = 1000

    init(_ disk: FloorDisk, places: FloorPlaces) {
        path = disk.path
        self.disk = Locked(disk)
        self.places = places
    }

    /// Keeps the files of processes that have ended until the copy has their floors.
    func inherit(_ inheritance: FloorInheritance) {
        state.withLock { $0.inherited.append(inheritance) }
    }

    /// Brings the copy up to date: its file at each call, the disk behind it once a second. The
    /// file is made anew if it was removed, and after a failure, a second later. Blocks for as long
    /// as the disk does; one thread at a time.
    ///
    /// - Parameters:
    ///   - isWhole: brings everything to the disk now.
    ///   - take: returns what the table has for the disk: all of it, or what has changed.
    ///   - holds: true if the table has a place for each floor of an inheritance.
    func update(
        now: Int64, isWhole: Bool, take: (_ all: Bool) -> News,
        holds: (FloorInheritance) -> Bool
    ) {
        guard isWhole || !state.withLock({ $0.isPausing(now: now) }) else { return }
        disk.withLock { disk in
            do throws(IOError) {
                if disk.isWhole {
                    try disk.write(taken(take(false)))
                    giveBackPlaces()
                    guard isWhole || state.withLock({ $0.isSyncDue(now: now) }) else { return }
                    if state.withLock({ $0.unsyncedSince < .max }) { try disk.sync() }
                } else {
                    try disk.replace(with: taken(take(true)))
                    giveBackPlaces()
                }
                noteSynced(now: now, holds)
            } catch {
                state.withLock { state in
                    state.failure = error
                    state.failedAt = now
                }
            }
        }
    }

    /// Notes that these changes are not synced yet.
    private func taken(_ news: News) -> FloorDisk.Changes {
        state.withLock { state in
            state.unsyncedSince = min(state.unsyncedSince, news.since)
            state.cleared += news.changes.cleared
        }
        return news.changes
    }

    private func giveBackPlaces() {
        let cleared = state.withLock { state in
            defer { state.cleared = [] }
            return state.cleared
        }
        if !cleared.isEmpty { places.giveBack(cleared) }
    }

    private func noteSynced(now: Int64, _ holds: (FloorInheritance) -> Bool) {
        let inherited = state.withLock { state in
            defer { state.inherited = [] }
            state.unsyncedSince = .max
            state.syncedAt = now
            state.failure = nil
            return state.inherited
        }
        for inheritance in inherited {
            // A full table has not taken all of them.
            guard holds(inheritance) else {
                inherit(inheritance)
                continue
            }
            let left = inheritance.remove()
            state.withLock { $0.left += left }
        }
    }

    /// The time of the oldest change that was taken and is not on the disk; later than any if there
    /// is none.
    var unsyncedSince: Int64 { state.withLock { $0.unsyncedSince } }

    /// The reason why the disk did not take what was written last; nil if it did, or has not
    /// answered yet.
    var failure: IOError? { state.withLock { $0.failure } }

    /// Removes the file, whose floors are all in the registry, unless the disk is still at work.
    func remove() {
        guard state.withLock({ $0.inherited.isEmpty }) else { return }
        disk.withLockIfFree { $0.remove() }
    }
}
