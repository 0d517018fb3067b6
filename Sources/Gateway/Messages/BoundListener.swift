import EventLoop
import Synchronization

/// A listening socket on its way to the worker that will serve it; closed if it does not arrive.
///
/// The kernel gives connections to every socket that listens, also to one that is not accepted
/// from.
final class BoundListener: Sendable {
    let context: ListenerContext
    private let descriptor: Atomic<Int32>

    /// Makes a listener; without a descriptor if the worker has the socket open already.
    init(context: ListenerContext, descriptor: Int32 = -1) {
        self.context = context
        self.descriptor = Atomic(descriptor)
    }

    deinit {
        if let descriptor = take() { Socket.close(descriptor) }
    }

    /// True if it holds a socket.
    var isOpen: Bool { descriptor.load(ordering: .acquiring) >= 0 }

    /// Returns the socket, which the caller has to close; nil if there is none, or if it was taken.
    func take() -> Int32? {
        let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        return descriptor >= 0 ? descriptor : nil
    }
}
