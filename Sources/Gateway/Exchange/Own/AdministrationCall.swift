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
    case quotas
    /// A count of the quota with this name.
    case quota(String)
    case quotaReset(String)
    case quotaGrant(String)

    /// Nil for a path that the API does not have. Key ids are base64 in either alphabet.
    init?(path: String) {
        switch path {
        case "/keys": self = .keys
        case "/keys/export": self = .export
        case "/keys/revoke": self = .revocation
        case "/keys/erase": self = .erasure
        case "/rollouts": self = .rollouts
        case "/audit": self = .audit
        case "/quotas": self = .quotas
        default:
            if let resource = Self.quota(path: path) {
                self = resource
                return
            }
            let prefix = "/keys/"
            guard path.hasPrefix(prefix), !path.hasSuffix("/") else { return nil }
            self = KeyID(base64: String(path.dropFirst(prefix.count))).map { .key($0) } ?? .noKey
        }
    }

    private static func quota(path: String) -> AdministrationResource? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (3...4).contains(parts.count), parts[0].isEmpty, parts[1] == "quotas",
            !parts[2].isEmpty
        else { return nil }
        guard parts.count == 4 else { return .quota(parts[2]) }
        switch parts[3] {
        case "reset": return .quotaReset(parts[2])
        case "grant": return .quotaGrant(parts[2])
        default: return nil
        }
    }

    var isChange: Bool {
        switch self {
        case .revocation, .erasure, .quotaReset, .quotaGrant: true
        case .keys, .key, .noKey, .export, .rollouts, .audit, .quotas, .quota: false
        }
    }

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
    case quotas
    case quota(QuotaOrder)
    /// Writes an action into the audit log that was done elsewhere, as DeviceCheck's are.
    case note(AuditNote)
}
