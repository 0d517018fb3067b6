import Crypto
import Foundation

/// The children alive and the scratch directories, so that a test process that exits leaves none
/// behind, even those that a static property still holds.
enum ExitRegister {
    private final class Register: @unchecked Sendable {
        let lock = NSLock()
        var ids: Set<pid_t> = []
        var paths: Set<String> = []
    }

    private static let register: Register = {
        // What is registered last runs first, and OpenSSL registers its own end at its first use.
        _ = RandomBytes.word()
        atexit {
            ExitRegister.killAll()
            ExitRegister.removeAll()
            LeakSanitizer.look()
        }
        return Register()
    }()

    static func add(_ id: pid_t) { register.lock.withLock { _ = register.ids.insert(id) } }

    static func remove(_ id: pid_t) { register.lock.withLock { _ = register.ids.remove(id) } }

    static func add(directory path: String) {
        register.lock.withLock { _ = register.paths.insert(path) }
    }

    static func remove(directory path: String) {
        register.lock.withLock { _ = register.paths.remove(path) }
    }

    private static func killAll() {
        register.lock.withLock { for id in register.ids { kill(id, SIGKILL) } }
    }

    private static func removeAll() {
        let paths = register.lock.withLock { register.paths }
        for path in paths { try? FileManager.default.removeItem(atPath: path) }
    }
}
