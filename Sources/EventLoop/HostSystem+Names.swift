import CLibevent
import CLinux

extension HostSystem {
    /// The name of the user whose rights this process has; `uid 65532` for one without a name.
    public static var userName: String {
        let id = geteuid()
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        // For the names and directories of an entry; glibc suggests 1024.
        var text = [CChar](repeating: 0, count: 16 * 1024)
        guard unsafe getpwuid_r(id, &entry, &text, text.count, &found) == 0,
            let found = unsafe found, let name = unsafe found.pointee.pw_name
        else { return "uid \(id)" }
        return unsafe String(cString: name)
    }

    /// The name of this machine, or of the container.
    public static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
