public import Bytes
import CLibevent
import CLinux

/// The outcome of accepting from a listener.
public enum AcceptOutcome: Hashable, Sendable {
    /// A connection: non-blocking, closed on exec, without Nagle's delay.
    case accepted(Int32, SocketAddress)
    case wouldBlock
    /// No descriptor or memory is left. The listener stays readable, so pause it for a while.
    case outOfDescriptors
    case failed(errno: Int32)
}

public enum ConnectOutcome: Hashable, Sendable {
    case connected(Int32)
    /// Wait for the descriptor to become writable, then ask ``Socket/connectError(_:)``.
    case inProgress(Int32)
    case failed(errno: Int32)
}

public enum ReadOutcome: Hashable, Sendable {
    /// This many bytes were read: at least one.
    case bytes(Int)
    case wouldBlock
    case endOfFile
    case failed(errno: Int32)
}

public enum WriteOutcome: Hashable, Sendable {
    /// This many of the bytes were taken. The rest would block.
    case bytes(Int)
    case wouldBlock
    case failed(errno: Int32)
}

/// The calls on stream sockets. Failures of the network are returned as values; our own mistakes (a
/// closed descriptor, a bad address) trap.
public enum Socket {
    /// Accepts one connection from a listener made by ``listen(on:reusePort:backlog:)``.
    public static func accept(_ listener: Int32) -> AcceptOutcome {
        var storage = sockaddr_storage()
        while true {
            var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe accept4(listener, address, &byteCount, streamFlags)
                }
            }
            if descriptor >= 0 {
                let peer = SocketAddress(storage, byteCount: byteCount)
                return .accepted(descriptor, peer ?? SocketAddress(.unix("")))
            }
            let code = sallyport_errno()
            switch code {
            case EAGAIN: return .wouldBlock
            case _ where isOwnShortage(errno: code): return .outOfDescriptors
            // accept(2): errors of the new connection, which is gone; the next one may be fine.
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
                EHOSTUNREACH, ENETUNREACH, EOPNOTSUPP:
                continue
            default:
                trapOwnMistake(code, "accept")
                return .failed(errno: code)
            }
        }
    }

    /// True if the process or the machine has run out of something that a socket needs. The other
    /// side is not the cause.
    public static func isOwnShortage(errno code: Int32) -> Bool {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code)
    }

    /// True if `code`, with which connecting to `address` failed, says that this machine has run
    /// out of something, local ports included. The system's word for those, EADDRNOTAVAIL, may also
    /// mean that there is no address to connect from; then not even a datagram could be sent.
    public static func isOwnShortage(
        errno code: Int32, connectingTo address: SocketAddress
    ) -> Bool {
        guard code == EADDRNOTAVAIL else { return isOwnShortage(errno: code) }
        let probe = socket(address.family, streamFlags | Int32(SOCK_DGRAM.rawValue), 0)
        guard probe >= 0 else { return true }
        defer { close(probe) }
        return unsafe address.withKernelForm { kernelForm, byteCount in
            unsafe CLinux.connect(probe, kernelForm, byteCount)
        } == 0
    }

    /// The number that the next descriptor will have. The system gives out the lowest free one, so
    /// all numbers below it are in use. Nil if none is free.
    public static func nextDescriptor() -> Int32? {
        let next = eventfd(0, Int32(EFD_CLOEXEC))
        guard next >= 0 else { return nil }
        close(next)
        return next
    }

    /// Starts connecting; the descriptor is non-blocking, closed on exec, without Nagle's delay.
    ///
    /// - Parameter source: the local address to connect from, without a port. The system chooses
    ///   one if it is nil.
    public static func connect(
        to address: SocketAddress, from source: SocketAddress? = nil
    ) -> ConnectOutcome {
        let descriptor = socket(address.family, streamFlags | stream, 0)
        guard descriptor >= 0 else { return .failed(errno: sallyport_errno()) }
        if !address.isUnix { set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
        if let source, let code = bindSource(descriptor, source) {
            close(descriptor)
            return .failed(errno: code)
        }
        let status = unsafe address.withKernelForm { kernelForm, byteCount in
            unsafe CLinux.connect(descriptor, kernelForm, byteCount)
        }
        if status == 0 { return .connected(descriptor) }
        let code = sallyport_errno()
        // After a signal the connection is still being made (connect(2)).
        if code == EINPROGRESS || code == EINTR { return .inProgress(descriptor) }
        trapOwnMistake(code, "connect")
        close(descriptor)
        return .failed(errno: code)
    }

    /// Returns an errno, or nil if the socket will connect from `source`. `connect` chooses the
    /// port, and can share one among connections to different addresses (ip(7)).
    private static func bindSource(_ descriptor: Int32, _ source: SocketAddress) -> Int32? {
        set(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1)
        let status = unsafe source.withKernelForm { kernelForm, byteCount in
            unsafe CLinux.bind(descriptor, kernelForm, byteCount)
        }
        return status == 0 ? nil : sallyport_errno()
    }

    /// The outcome of a connection in progress: 0 or an errno. Reading it clears it (SO_ERROR).
    public static func connectError(_ descriptor: Int32) -> Int32 {
        option(descriptor, SOL_SOCKET, SO_ERROR)
    }

    /// Appends at most `byteCountMax` bytes to `buffer`, which makes that much room.
    public static func read(
        _ descriptor: Int32, into buffer: inout ByteBuffer, atMost byteCountMax: Int
    ) -> ReadOutcome {
        receive(descriptor, into: &buffer, atMost: byteCountMax, flags: 0)
    }

    /// Reads like ``read(_:into:atMost:)``, but leaves the bytes in the kernel for the next reader.
    public static func peek(
        _ descriptor: Int32, into buffer: inout ByteBuffer, atMost byteCountMax: Int
    ) -> ReadOutcome {
        receive(descriptor, into: &buffer, atMost: byteCountMax, flags: Int32(MSG_PEEK))
    }

    private static func receive(
        _ descriptor: Int32, into buffer: inout ByteBuffer, atMost byteCountMax: Int, flags: Int32
    ) -> ReadOutcome {
        assert(byteCountMax > 0)
        var code: Int32 = 0
        let filled = unsafe buffer.withUnsafeWritable(minimumCount: byteCountMax) { target in
            while true {
                let count = unsafe recv(descriptor, target.baseAddress, byteCountMax, flags)
                if count >= 0 { return count }
                code = sallyport_errno()
                if code != EINTR { return 0 }
            }
        }
        if filled > 0 { return .bytes(filled) }
        switch code {
        case 0: return .endOfFile
        case EAGAIN: return .wouldBlock
        default:
            trapOwnMistake(code, "recv")
            return .failed(errno: code)
        }
    }

    /// Sends the bytes that the kernel takes now. If the peer is gone, that is an error, not a
    /// signal.
    public static func write(_ descriptor: Int32, _ bytes: Span<UInt8>) -> WriteOutcome {
        send(descriptor, bytes, flags: 0)
    }

    /// Sends like ``write(_:_:)``, on a socket whose writes may wait.
    public static func writeAtOnce(_ descriptor: Int32, _ bytes: Span<UInt8>) -> WriteOutcome {
        send(descriptor, bytes, flags: Int32(MSG_DONTWAIT))
    }

    @inline(__always)
    private static func send(
        _ descriptor: Int32, _ bytes: Span<UInt8>, flags: Int32
    ) -> WriteOutcome {
        assert(!bytes.isEmpty)
        return unsafe bytes.withUnsafeBufferPointer { source in
            while true {
                let count = unsafe CLinux.send(
                    descriptor, source.baseAddress, source.count, Int32(MSG_NOSIGNAL) | flags)
                if count >= 0 { return .bytes(count) }
                if let outcome = failure("send") { return outcome }
            }
        }
    }

    /// Sends two runs of bytes in one call: a head and the start of its body.
    public static func write(
        _ descriptor: Int32, _ first: Span<UInt8>, _ second: Span<UInt8>
    ) -> WriteOutcome {
        if second.isEmpty { return write(descriptor, first) }
        return unsafe first.withUnsafeBufferPointer { first in
            unsafe second.withUnsafeBufferPointer { second in
                // The kernel only reads through an iovec, whose pointers are mutable by type.
                let parts: InlineArray<2, iovec> = unsafe [
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress),
                        iov_len: first.count),
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress),
                        iov_len: second.count),
                ]
                return unsafe writeParts(descriptor, parts)
            }
        }
    }

    private static func writeParts(
        _ descriptor: Int32, _ parts: InlineArray<2, iovec>
    ) -> WriteOutcome {
        unsafe parts.span.withUnsafeBufferPointer { vectors in
            var message = unsafe msghdr()
            unsafe message.msg_iov = UnsafeMutablePointer(mutating: vectors.baseAddress)
            unsafe message.msg_iovlen = vectors.count
            while true {
                let count = unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
                if count >= 0 { return .bytes(count) }
                if let outcome = failure("sendmsg") { return outcome }
            }
        }
    }

    /// Sends up to `byteCountMax` bytes of `file` from `offset`. SIGPIPE must be ignored.
    static func write(
        _ descriptor: Int32, fromFile file: Int32, at offset: Int, atMost byteCountMax: Int
    ) -> WriteOutcome {
        var position = off_t(offset)
        while true {
            let count = unsafe sendfile(descriptor, file, &position, byteCountMax)
            if count >= 0 { return .bytes(count) }
            if let outcome = failure("sendfile") { return outcome }
        }
    }

    /// True if the peer takes no more bytes: it has reset the connection or, on a unix socket,
    /// closed it. Over TCP a peer that has closed looks like one that only sends no more, until
    /// bytes are sent to it.
    ///
    /// A read does not tell, because after the peer's end it reports that end forever. To be asked
    /// before our own side is shut.
    public static func isGone(_ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: 0, revents: 0)
        // Errors and hang-ups are reported unasked; nothing is waited for, so no signal interrupts.
        guard unsafe poll(&request, 1, 0) > 0 else { return false }
        precondition(Int32(request.revents) & POLLNVAL == 0, "poll: not an open descriptor")
        return true
    }

    /// True if the peer sends no more bytes, or is gone, even while bytes that it sent before wait
    /// to be read. A peer that has closed the connection and one that only ended its sending side
    /// look alike.
    public static func hasPeerEnded(_ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: sallyport_pollrdhup, revents: 0)
        guard unsafe poll(&request, 1, 0) > 0 else { return false }
        precondition(Int32(request.revents) & POLLNVAL == 0, "poll: not an open descriptor")
        return true
    }

    /// The nanoseconds since bytes last came on a TCP connection, read or not, or since it was
    /// made, by the kernel's ticks of some milliseconds. 0 on a unix socket.
    public static func nanosecondsSinceData(_ descriptor: Int32) -> UInt64 {
        UInt64(sallyport_milliseconds_since_data(descriptor)) * 1_000_000
    }

    /// The number of bytes that have come and were not read yet.
    public static func unreadByteCount(_ descriptor: Int32) -> Int {
        Int(sallyport_unread(descriptor))
    }

    /// The number of written bytes that the peer's system has not acknowledged.
    public static func queuedByteCount(_ descriptor: Int32) -> Int {
        Int(sallyport_queued(descriptor))
    }

    /// Tells the peer that no more bytes follow.
    public static func shutdownWrite(_ descriptor: Int32) {
        if shutdown(descriptor, Int32(SHUT_WR)) != 0 {
            trapOwnMistake(sallyport_errno(), "shutdown")
        }
    }

    /// Closes so that the peer sees a reset, and does not take the bytes that it received for
    /// complete.
    public static func closeWithReset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        let byteCount = socklen_t(MemoryLayout<linger>.size)
        if unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, byteCount) != 0 {
            trapOwnMistake(sallyport_errno(), "setsockopt")
        }
        close(descriptor)
    }

    public static func close(_ descriptor: Int32) {
        // Linux frees the descriptor even if close reports an interruption.
        if CLinux.close(descriptor) != 0 { trapOwnMistake(sallyport_errno(), "close") }
    }

    /// The address that a socket is bound to, with the real port if port 0 was asked for.
    public static func localAddress(_ descriptor: Int32) -> SocketAddress? {
        unsafe address(of: descriptor) { unsafe getsockname($0, $1, $2) }
    }

    /// The peer's address, or nil if the peer has gone.
    public static func peerAddress(_ descriptor: Int32) -> SocketAddress? {
        unsafe address(of: descriptor) { unsafe getpeername($0, $1, $2) }
    }

    /// Makes two connected ends, non-blocking and closed on exec, for tests and wake-ups.
    public static func pair() throws(IOError) -> (Int32, Int32) {
        var ends: (Int32, Int32) = (-1, -1)
        let status = unsafe withUnsafeMutablePointer(to: &ends) { pointer in
            unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) { array in
                unsafe socketpair(AF_UNIX, streamFlags | stream, 0, array)
            }
        }
        guard status == 0 else { throw IOError("socket pair", errno: sallyport_errno()) }
        return ends
    }

    private static func address(
        of descriptor: Int32,
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var byteCount = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe ask(descriptor, address, &byteCount)
            }
        }
        return status == 0 ? SocketAddress(storage, byteCount: byteCount) : nil
    }

    // MARK: shared with the listeners

    static let stream = Int32(SOCK_STREAM.rawValue)
    static let streamFlags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)

    static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        let byteCount = socklen_t(MemoryLayout<Int32>.size)
        if unsafe setsockopt(descriptor, level, name, &value, byteCount) != 0 {
            trapOwnMistake(sallyport_errno(), "setsockopt")
        }
    }

    static func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
        var value: Int32 = 0
        var byteCount = socklen_t(MemoryLayout<Int32>.size)
        if unsafe getsockopt(descriptor, level, name, &value, &byteCount) != 0 {
            trapOwnMistake(sallyport_errno(), "getsockopt")
        }
        return value
    }

    /// The failure of a write, or nil after an interruption, when the caller tries again.
    private static func failure(_ call: StaticString) -> WriteOutcome? {
        let code = sallyport_errno()
        switch code {
        case EINTR: return nil
        case EAGAIN: return .wouldBlock
        default:
            trapOwnMistake(code, call)
            return .failed(errno: code)
        }
    }

    /// Traps, because going on with a descriptor that is not ours would read or close another
    /// connection.
    static func trapOwnMistake(_ code: Int32, _ call: StaticString) {
        precondition(
            code != EBADF && code != ENOTSOCK && code != EFAULT,
            "\(call): \(IOError.text(errno: code))")
    }
}
