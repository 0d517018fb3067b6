import CLibevent
import CLinux

/// The C function that libevent calls: with the descriptor, the kinds of event, and the context
/// given to `assign`.
typealias LoopCallback = @convention(c) (Int32, Int16, UnsafeMutableRawPointer?) -> Void

/// One libevent event in our own memory, removed from the loop before the memory is freed.
///
/// libevent does not touch an event after its callback has begun (persistent or not), so the
/// callback may end the life of its own event.
@safe
struct LoopEvent: ~Copyable {
    let loop: EventLoop
    private let event: OpaquePointer

    init(loop: EventLoop) {
        self.loop = loop
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: event_get_struct_event_size(), alignment: 16)
        unsafe event = OpaquePointer(memory)
    }

    deinit {
        unsafe event_del(event)
        unsafe UnsafeMutableRawPointer(event).deallocate()
    }

    /// Sets the events to wait for and the function to call. `context` is not retained, because it
    /// owns this event.
    ///
    /// Every event is assigned right after it was made, because its end removes it from the loop.
    func assign(
        descriptor: Int32, kinds: Int32, callback: LoopCallback, context: AnyObject
    ) {
        let status = unsafe event_assign(
            event, loop.base, descriptor, Int16(kinds), callback,
            Unmanaged.passUnretained(context).toOpaque())
        precondition(status == 0, "event_assign refused descriptor \(descriptor)")
    }

    func add() {
        loop.assertOwned()
        let status = unsafe event_add(event, nil)
        precondition(status == 0, "event_add: \(IOError.text(errno: sallyport_errno()))")
    }

    /// Fires once `nanoseconds` from now, by libevent's coarse clock.
    func add(afterNanoseconds nanoseconds: UInt64) {
        loop.assertOwned()
        // Rounded up, because libevent counts microseconds.
        let microseconds = nanoseconds / 1000 + (nanoseconds.isMultiple(of: 1000) ? 0 : 1)
        var timeout = timeval(
            tv_sec: Int(microseconds / 1_000_000), tv_usec: Int(microseconds % 1_000_000))
        let status = unsafe event_add(event, &timeout)
        precondition(status == 0, "event_add: \(IOError.text(errno: sallyport_errno()))")
    }

    /// Fires in this turn as if `kinds` had happened.
    func activate(_ kinds: Int32) {
        loop.assertOwned()
        unsafe event_active(event, kinds, 0)
    }

    func remove() {
        loop.assertOwned()
        unsafe event_del(event)
    }
}
