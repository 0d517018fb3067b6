import EventLoop
import Foundation

/// A directory of the test's own, removed with it.
final class TestDirectory {
    let root: String

    init() throws {
        root = NSTemporaryDirectory() + "sallyport-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { root + "/" + name }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: root).sorted() }
    }
}

extension Socket {
    /// A descriptor that is connected or about to be.
    static func connected(to address: SocketAddress) throws -> Int32 {
        switch connect(to: address) {
        case .connected(let descriptor), .inProgress(let descriptor): return descriptor
        case .failed(let code): throw IOError(address.description, errno: code)
        }
    }

    static func hasNoDelay(_ descriptor: Int32) -> Bool {
        var value: Int32 = 0
        var byteCount = socklen_t(4)
        let status = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &byteCount)
        return status == 0 && value != 0
    }

    static func isNonBlockingAndClosedOnExec(_ descriptor: Int32) -> Bool {
        fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0 && fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0
    }
}
