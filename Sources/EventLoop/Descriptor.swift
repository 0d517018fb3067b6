import CLibevent
import CLinux

/// Owns one file descriptor and closes it when it goes.
public struct Descriptor: ~Copyable, Sendable {
    public let raw: Int32

    public init(owning raw: Int32) { self.raw = raw }

    deinit { Socket.close(raw) }

    /// Gives the descriptor away without closing it.
    public consuming func release() -> Int32 {
        let raw = raw
        discard self
        return raw
    }
}
