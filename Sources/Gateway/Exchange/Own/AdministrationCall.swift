import Attestation
import KeyStore

/// A resource of the admin API.
enum AdministrationResource: Equatable {
    case keys
    case key(KeyID)
    /// A path below `/keys/` that does not hold a valid key id.
    case noKey
    case export
    case revocation
    case erasure
    case rollouts
    case audit

    /// Nil for a path that the API does not have. Key ids are base64 in either alphabet.
    init?(path: String) {
        switch path {
        case "/keys": self = .keys
        case "/keys/export": self = .export
        case "/keys/revoke": self = .revocation
        case "/keys/erase": self = .erasure
        case "/rollouts": self = .rollouts
        case "/audit": self = .audit
        default:
            let prefix = "/keys/"
            guard path.hasPrefix(prefix), !path.hasSuffix("/") else { return nil }
            self = KeyID(base64: String(path.dropFirst(prefix.count))).map { .key($0) } ?? .noKey
        }
    }

    var isChange: Bool { self == .revocation || self == .erasure }

    /// The value of the `Allow` header.
    var allowedMethods: String { isChange ? "POST" : "GET, HEAD" }
}

/// An admin API request whose token is valid.
struct AdministrationRequest {
    let resource: AdministrationResource
    let author: AuditAuthor
}

/// A parsed call of the admin API.
enum AdministrationCall: Sendable {
    case list(KeyFilter, Pseudonym?)
    case show(KeyID)
    case export(KeyFilter)
    case revoke([KeyID])
    case erase([KeyID])
    case rollouts
    case audit(AuditFilter)
    /// Writes an action into the audit log that was done elsewhere, as DeviceCheck's are.
    case note(AuditNote)
}
