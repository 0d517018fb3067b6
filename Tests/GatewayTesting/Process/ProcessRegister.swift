import Crypto
import Foundation

/// The children alive, so that a test process that exits leaves none behind, even those that a
/// static property still holds.
enum ProcessRegister {
    private final class Register: @unchecked Sendable {
        let lock = NSLock()
        var ids: Set<pid_t> = []
    }

    private static let register: Register = {
        // What is registered last runs first, and OpenSSL registers its own end at its first use.
        _ = RandomBytes.word()
        atexit {
            ProcessRegister.killAll()
            LeakSanitizer.look()
        }
        return Register()
    }()

    static func add(_ id: pid_t) { register.lock.withLock { _ = register.ids.insert(id) } }

    static func remove(_ id: pid_t) { register.lock.withLock { _ = register.ids.remove(id) } }

    private static func killAll() {
        register.lock.withLock { for id in register.ids { kill(id, SIGKILL) } }
    }
}
