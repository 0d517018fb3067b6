public import Bytes
import EventLoop

/// The clock of embedded counters: the machine's monotonic one, which cannot be set, plus a base.
///
/// The base is fixed when an incarnation begins: the time of day less the monotonic time, so that
/// challenges do not tell for how long the machine has been up. Nothing asks the time of day again.
public struct EmbeddedClock: Hashable, Sendable {
    /// The number that is added to monotonic milliseconds.
    public let base: Int64
    /// The boot whose monotonic clock it is; nil if the system does not tell.
    public let boot: Bytes16?
    /// The monotonic milliseconds at which the clock began, or at which the counters were stopped.
    public let nowMilliseconds: Int64

    public init(base: Int64, boot: Bytes16?, nowMilliseconds: Int64) {
        self.base = base
        self.boot = boot
        self.nowMilliseconds = nowMilliseconds
    }

    /// A clock that begins at this moment of this machine.
    public static func now() -> EmbeddedClock {
        let monotonic = MonotonicInstant.now().milliseconds
        return EmbeddedClock(
            base: WallClock.milliseconds() - monotonic, boot: HostSystem.bootID,
            nowMilliseconds: monotonic)
    }

    /// True if this clock goes on from where `stopped` was left: in the same boot, and not earlier.
    func continues(_ stopped: EmbeddedClock) -> Bool {
        boot != nil && boot == stopped.boot && nowMilliseconds >= stopped.nowMilliseconds
    }
}
