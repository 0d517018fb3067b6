import CLibevent
import CLinux

extension Socket {
    /// Opens a listening socket, non-blocking and closed on exec; its connections have no Nagle's
    /// delay.
    ///
    /// With `reusePort`, every worker makes a listener of its own for one address and the kernel
    /// spreads the connections. A second process of the same user can then bind it too, so use
    /// ``listeners(on:count:backlog:besideOwn:)``, which checks first. An IPv6 listener accepts
    /// IPv6 only. So the configuration shows that `[::]` and `0.0.0.0` are two listeners, and no
    /// client appears under an IPv4-mapped address that an address rule would miss.
    ///
    /// A stale unix socket file is removed if no process answers at it. The error's text names the
    /// address: `127.0.0.1:8080: address already in use`.
    public static func listen(
        on address: SocketAddress, reusePort: Bool = false, backlog: Int32 = 1024
    ) throws(IOError) -> Int32 {
        let listener = try bind(to: address, reusePort: reusePort)
        guard CLinux.listen(listener.raw, backlog) == 0 else {
            throw IOError(address.description, errno: sallyport_errno())
        }
        return listener.release()
    }

    /// Opens one listener for each worker. With port 0 all of them get the same free port. At a
    /// unix address, whose connections the kernel cannot spread, the listeners are duplicates of
    /// one.
    /// With `besideOwn`, these are further listeners at a TCP address at which this process listens
    /// already.
    public static func listeners(
        on address: SocketAddress, count: Int, backlog: Int32 = 1024, besideOwn: Bool = false
    ) throws(IOError) -> [Int32] {
        precondition(count > 0)
        if address.isUnix {
            var listeners = [try listen(on: address, backlog: backlog)]
            while listeners.count < count {
                let copy = sallyport_duplicate(listeners[0])
                guard copy >= 0 else {
                    let code = sallyport_errno()
                    for listener in listeners { close(listener) }
                    throw IOError(address.description, errno: code)
                }
                listeners.append(copy)
            }
            return listeners
        }
        let bound = besideOwn && address.port != 0 ? address : try freeAddress(address)
        var listeners: [Int32] = []
        for _ in 0..<count {
            do throws(IOError) {
                listeners.append(try listen(on: bound, reusePort: true, backlog: backlog))
            } catch {
                for listener in listeners { close(listener) }
                throw error
            }
        }
        return listeners
    }

    /// Throws the reason why ``listeners(on:count:backlog:besideOwn:)`` would fail now. Leaves
    /// nothing behind, and accepts no connection meanwhile.
    public static func tryListening(on address: SocketAddress) throws(IOError) {
        guard case .unix(let path) = address.form else {
            _ = try freeAddress(address)
            return
        }
        switch connect(to: address) {
        case .connected(let descriptor), .inProgress(let descriptor):
            close(descriptor)
            throw IOError(address.description, .addressInUse)
        case .failed(EAGAIN): throw IOError(address.description, .addressInUse)
        // No process answers at a file that was left behind: the file would be replaced.
        case .failed(ENOENT), .failed(ECONNREFUSED):
            let directory = File.directory(of: path)
            guard File.canWrite(inDirectory: directory) else {
                throw IOError(path, File.exists(directory) ? .permissionDenied : .notFound)
            }
        case .failed(let code): throw IOError(address.description, errno: code)
        }
    }

    /// Binds a single socket first, which fails if any other process has the address.
    private static func freeAddress(_ address: SocketAddress) throws(IOError) -> SocketAddress {
        let probe = try bind(to: address, reusePort: false)
        return localAddress(probe.raw) ?? address
    }

    private static func bind(
        to address: SocketAddress, reusePort: Bool
    ) throws(IOError) -> Descriptor {
        let subject = address.description
        if case .unix(let path) = address.form { try removeStaleSocket(path, address) }
        let raw = socket(address.family, streamFlags | stream, 0)
        guard raw >= 0 else { throw IOError(subject, errno: sallyport_errno()) }
        let descriptor = Descriptor(owning: raw)
        if !address.isUnix {
            set(raw, SOL_SOCKET, SO_REUSEADDR, 1)
            if reusePort { set(raw, SOL_SOCKET, SO_REUSEPORT, 1) }
            setStreamOptions(raw)
        }
        if address.family == AF_INET6 { set(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        let status = unsafe address.withKernelForm { kernelForm, byteCount in
            unsafe CLinux.bind(raw, kernelForm, byteCount)
        }
        guard status == 0 else { throw IOError(subject, errno: sallyport_errno()) }
        return descriptor
    }

    /// Sets the options that connections inherit from their listener on Linux: no delay of small
    /// writes, and no more bytes in the kernel than it can send soon. Other bytes that a slow
    /// client has not taken wait where they are bounded (`limits.response_buffer`), and upstream.
    static func setStreamOptions(_ listener: Int32) {
        set(listener, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(listener, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentByteCountMax)
    }

    /// The most unsent bytes in the kernel: enough to keep a link of 10 Gbit/s busy for the turn in
    /// which more is written.
    static let unsentByteCountMax: Int32 = 128 * 1024

    /// Removes the socket file that a killed gateway has left. A running gateway would answer
    /// there.
    private static func removeStaleSocket(
        _ path: String, _ address: SocketAddress
    ) throws(IOError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & mode_t(S_IFMT) == mode_t(S_IFSOCK)
        else { return }
        switch connect(to: address) {
        case .connected(let descriptor), .inProgress(let descriptor):
            close(descriptor)
            throw IOError(address.description, .addressInUse)
        case .failed(ECONNREFUSED):
            guard unsafe unlink(path) == 0 || sallyport_errno() == ENOENT else {
                throw IOError(address.description, errno: sallyport_errno())
            }
        case .failed(EAGAIN):
            // Its backlog is full: a process listens.
            throw IOError(address.description, .addressInUse)
        case .failed(ENOENT):
            return
        case .failed(let code):
            throw IOError(address.description, errno: code)
        }
    }
}
