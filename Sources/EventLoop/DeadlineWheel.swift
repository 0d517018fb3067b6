/// Coarse timeouts for thousands of connections: a ring of slots, each about 67 ms wide.
///
/// An entry waits in the slot of the time that it was linked for. When that slot comes up, an entry
/// that was moved later in the meantime is linked again, a cleared one is forgotten, and the rest
/// expire. So the common case, a timeout that is moved for every request and never fires, costs one
/// store. The wheel's timer runs only while it holds entries.
@safe
public final class DeadlineWheel {
    let loop: EventLoop
    private var timer: Timer?
    /// The first entry of each slot. Entries are not retained; each takes itself out when it is
    /// deallocated.
    private var slots: [Unheld<Deadline>?]
    /// The last tick handled.
    private var tick: UInt64 = 0
    private var entryCount = 0

    static let slotShift: UInt64 = 26
    /// The number of slots, a power of two. The ring spans 69 s; a later deadline is linked again
    /// in each round.
    static let slotCount: UInt64 = 1024
    /// The time by which a deadline may fire late, in addition to the loop's own delay.
    public static let granularity = Duration.nanoseconds(1 << Int64(slotShift))

    public init(loop: EventLoop) {
        self.loop = loop
        slots = Array(repeating: nil, count: Int(Self.slotCount))
    }

    /// The first tick that is not before `due`.
    static func tick(of due: UInt64) -> UInt64 {
        let whole = due >> slotShift
        return due & ((1 << slotShift) - 1) == 0 ? whole : whole + 1
    }

    /// Puts `deadline` into the slot of its due time, or the farthest one.
    func link(_ deadline: Deadline) {
        loop.assertOwned()
        if deadline.list >= 0 { unlink(deadline) }
        if entryCount == 0 { start() }
        let wanted = Self.tick(of: deadline.due)
        deadline.tick = min(max(wanted, tick + 1), tick + Self.slotCount - 1)
        let index = Int(deadline.tick & (Self.slotCount - 1))
        deadline.list = index
        unsafe deadline.previous = nil
        if let first = slots[index]?.object {
            unsafe deadline.next = first
            unsafe first.previous = deadline
        } else {
            unsafe deadline.next = nil
        }
        slots[index] = Unheld(deadline)
        entryCount += 1
    }

    func unlink(_ deadline: Deadline) {
        loop.assertOwned()
        if let previous = unsafe deadline.previous {
            unsafe previous.next = deadline.next
        } else {
            slots[deadline.list] = unsafe deadline.next.map { Unheld($0) }
        }
        if let next = unsafe deadline.next { unsafe next.previous = deadline.previous }
        unsafe deadline.next = nil
        unsafe deadline.previous = nil
        deadline.list = -1
        entryCount -= 1
    }

    private func start() {
        let timer =
            self.timer
            ?? Timer(loop: loop) { [unowned self] in tickIsDue() }
        self.timer = timer
        // While the timer runs, only it moves the hand. Otherwise a single entry that is linked
        // again would get into the slot that is being handled, again and again.
        guard !timer.isScheduled else { return }
        tick = max(tick, loop.now.nanoseconds >> Self.slotShift)
        timer.scheduleRepeating(every: Self.granularity)
    }

    private func tickIsDue() {
        advance(to: loop.now)
        if entryCount == 0 { timer?.cancel() }
    }

    /// Handles every slot up to `now`. The timer calls it; tests call it with their own time.
    package func advance(to now: MonotonicInstant) {
        let target = now.nanoseconds >> Self.slotShift
        guard target > tick else { return }
        // After a long stall one round is enough: it meets every entry once.
        if target - tick > Self.slotCount { tick = target - Self.slotCount }
        while tick < target {
            tick += 1
            let index = Int(tick & (Self.slotCount - 1))
            // A handler's new deadline goes at least one tick ahead, so this slot runs empty.
            while let deadline = slots[index]?.object {
                unlink(deadline)
                if deadline.due == .max { continue }
                if deadline.due > now.nanoseconds {
                    link(deadline)
                } else {
                    deadline.due = .max
                    deadline.handler?.deadlineExpired()
                }
            }
        }
    }

    package var linkedCount: Int { entryCount }
}
