import AppAttest
import KeyStore

/// What the admin API has under a path.
enum AdministrationResource: Equatable {
    case keys
    case key(KeyID)
    /// What stands in place of a key's id is none.
    case noKey
    case export
    case revocation
    case erasure
    case rollouts
    case audit

    /// Nil for a path that leads nowhere. Key ids are base64 in either alphabet.
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

    /// For `Allow`.
    var allowedMethods: String { isChange ? "POST" : "GET, HEAD" }
}

/// A request of the admin API whose token was found good.
struct AdministrationRequest {
    let resource: AdministrationResource
    let author: AuditAuthor
}

/// What the API is asked, read.
enum AdministrationCall: Sendable {
    case list(KeyFilter, Pseudonym?)
    case show(KeyID)
    case export(KeyFilter)
    case revoke([KeyID])
    case erase([KeyID])
    case rollouts
    case audit(AuditFilter)
    /// Notes what was done elsewhere.
    case note(AuditNote)
}

/// The answer to it, made on another thread.
struct AdministrationAnswer: Sendable {
    var status: UInt16
    var contentType: StaticString = "application/json"
    var body: [UInt8]
    /// The `Link` to the next page.
    var link: String?
    /// What the event log says of a change.
    var event: String?
    /// Why nothing could be done, for the event log.
    var failure: String?
}
