import Foundation
import Synchronization

/// Finds TCP ports of 127.0.0.1 for servers that a test starts.
///
/// A port that the kernel hands out for port 0 may become the source port of any connection before
/// the server binds it. So ports come from below the kernel's ephemeral range (32768 and up), are
/// bound once to see that they are free, and are never given twice: another process of tests could
/// find a port before the server of this one binds it.
public enum FreePort {
    private static let candidates = 12_000..<32_000
    private static let next = Atomic<Int>(Int.random(in: candidates))

    public static func find() -> UInt16 {
        for _ in candidates {
            let offset = next.wrappingAdd(1, ordering: .relaxed).oldValue - candidates.lowerBound
            let port = UInt16(candidates.lowerBound + offset % candidates.count)
            if claim(port), isFree(port) { return port }
        }
        preconditionFailure("no free port of 127.0.0.1 between 12000 and 32000")
    }

    /// A file in which each process of tests has locked the bytes at the numbers of its ports.
    private static let claims = open(
        "/tmp/sallyport-test-ports", O_RDWR | O_CREAT | O_CLOEXEC, 0o666)

    /// False if another process that lives has the port.
    private static func claim(_ port: UInt16) -> Bool {
        precondition(claims >= 0, "no file for the claims to ports: \(errno)")
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(port)
        lock.l_len = 1
        return fcntl(claims, F_SETLK, &lock) == 0
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        precondition(socket >= 0, "no descriptor is left")
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
