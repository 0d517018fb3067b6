import CLibevent
import CLinux

/// Calls a closure on the loop when the process receives a signal.
///
/// libevent delivers signals to one loop of a process only: the control thread's. The watch retains
/// its closure; dropping the watch restores the former effect of the signal.
public final class SignalWatch {
    private let event: LoopEvent
    private let handler: () -> Void

    public static let hangUp: Int32 = SIGHUP
    public static let interrupt: Int32 = SIGINT
    public static let terminate: Int32 = SIGTERM
    public static let user1: Int32 = SIGUSR1
    public static let user2: Int32 = SIGUSR2

    public init(loop: EventLoop, signal: Int32, handler: @escaping () -> Void) {
        event = LoopEvent(loop: loop)
        self.handler = handler
        unsafe event.assign(
            descriptor: signal, kinds: EV_SIGNAL | EV_PERSIST, callback: signalHasArrived,
            context: self)
        event.add()
    }

    /// The signals that a gateway watches.
    private static let watched = [interrupt, terminate] + requests
    /// The signals among them that ask a running gateway for something. None of them ends a start.
    private static let requests = [hangUp, user1, user2]

    /// Holds the watched signals back, also while the process becomes another program, so that none
    /// of them ends it before it is watched again.
    public static func hold() { set(watched, SIG_BLOCK) }

    /// Holds SIGHUP, SIGUSR1 and SIGUSR2 back. SIGTERM and SIGINT still end the process.
    public static func holdRequests() { set(requests, SIG_BLOCK) }

    /// Delivers the signals that were held back. Call it once the watches are there.
    public static func release() { set(watched, SIG_UNBLOCK) }

    private static func set(_ numbers: [Int32], _ how: Int32) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in numbers { unsafe sigaddset(&signals, number) }
        let status = unsafe pthread_sigmask(how, &signals, nil)
        precondition(status == 0, "pthread_sigmask: \(IOError.text(errno: status))")
    }

    /// Ignores SIGPIPE: a write to a peer that closed its end must fail, not end the process.
    public static func ignoreBrokenPipes() {
        let status = sallyport_ignore_signal(SIGPIPE)
        precondition(status == 0, "SIGPIPE: \(IOError.text(errno: status))")
    }

    /// Undoes that SIGCHLD is ignored, which a process inherits. The system would keep no status of
    /// a program that ends.
    public static func keepEndings() {
        let status = sallyport_default_signal(SIGCHLD)
        precondition(status == 0, "SIGCHLD: \(IOError.text(errno: status))")
    }

    fileprivate func fire() {
        let loop = event.loop
        loop.callbackStarts()
        let handler = handler
        handler()
        loop.callbackEnds()
    }
}

private func signalHasArrived(_: Int32, _: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { preconditionFailure("a signal without a context") }
    unsafe Unmanaged<SignalWatch>.fromOpaque(context).takeUnretainedValue().fire()
}
