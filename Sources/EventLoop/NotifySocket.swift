import CLibevent
import CLinux

/// The socket on which a service manager hears about its service. The corresponding C function is
/// `sd_notify`; sd_notify(3) describes the protocol and its words.
public final class NotifySocket: Sendable {
    private let descriptor: Descriptor
    /// The name in the kernel's form: an abstract one begins with a NUL.
    private let name: [UInt8]

    /// `name` is the manager's `NOTIFY_SOCKET`: an absolute path, or an abstract name after `@`.
    public init(_ name: String) throws(IOError) {
        var bytes = Array(name.utf8)
        let isAbstract = bytes.first == 0x40
        guard isAbstract || bytes.first == 0x2F, bytes.count > 1, !bytes.contains(0),
            bytes.count <= SocketAddress.unixPathByteCountMax
        else { throw IOError("NOTIFY_SOCKET \(name)", .unresolved("not a unix socket's name")) }
        if isAbstract { bytes[0] = 0 }
        self.name = bytes
        let flags = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let raw = socket(AF_UNIX, flags, 0)
        guard raw >= 0 else { throw IOError("NOTIFY_SOCKET", errno: sallyport_errno()) }
        descriptor = Descriptor(owning: raw)
    }

    /// Sends assignments such as `READY=1` together. False if the manager did not take them: it is
    /// away or does not read.
    ///
    /// The address is looked up each time, because a manager that starts again has another socket
    /// there.
    @discardableResult
    public func send(_ assignments: [String]) -> Bool {
        let text = Array(assignments.joined(separator: "\n").utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in
            unsafe path.copyBytes(from: name)
        }
        let byteCount = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { kernelForm in
                unsafe text.withUnsafeBufferPointer { source in
                    let sent = unsafe sendto(
                        descriptor.raw, source.baseAddress, source.count, Int32(MSG_NOSIGNAL),
                        kernelForm, byteCount)
                    return sent == source.count
                }
            }
        }
    }
}
