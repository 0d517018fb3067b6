import CLibevent
import CLinux

/// Owns one file descriptor and closes it at the end of its life.
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

extension Descriptor {
    /// The ends of a new pipe, closed on exec, which the caller owns. `subject` is the subject of
    /// an error, `flags` are further ones of pipe2(2).
    static func pipe(
        for subject: String, _ flags: Int32 = 0
    ) throws(IOError) -> (read: Int32, write: Int32) {
        var ends: (read: Int32, write: Int32) = (-1, -1)
        let status = unsafe withUnsafeMutablePointer(to: &ends) { pointer in
            unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) { array in
                unsafe pipe2(array, flags | Int32(O_CLOEXEC))
            }
        }
        guard status == 0 else { throw IOError(subject, errno: sallyport_errno()) }
        return ends
    }
}
