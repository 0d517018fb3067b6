import Bytes
import Crypto
import EventLoop
import KeyStore

extension AuditAuthor {
    /// The user who runs this command, as the system says; under sudo also the user who called it,
    /// as the environment says.
    static func ofCommand() -> AuditAuthor {
        let user = HostSystem.userName
        let caller = HostSystem.environment("SUDO_USER").flatMap { $0.isEmpty ? nil : $0 }
        let name = caller.map { "\($0) via sudo as \(user)" } ?? user
        return AuditAuthor(
            way: .command, name: name, origin: HostSystem.hostName, requestID: makeID())
    }

    /// The gateway that starts here.
    static func ofGateway() -> AuditAuthor {
        AuditAuthor(
            way: .gateway, name: HostSystem.userName, origin: HostSystem.hostName,
            requestID: makeID())
    }

    private static func makeID() -> String { Hex.encode(RandomBytes.bytes(16)) }
}
