public import Bytes
import Crypto

/// One of the operator's apps: its App ID and the environments that its keys may come from.
public struct AppIdentity: Hashable, Sendable {
    /// `TEAMID.bundle.id`; on macOS 27 the team id and the signing identifier.
    public let id: String
    public let environments: Set<AttestEnvironment>
    /// SHA-256 of ``id``, the authenticator's relying party id hash.
    public let rpIDHash: Bytes32
    /// True if a Mac's keys are accepted only with System Integrity Protection and Full Security.
    /// Other devices are not concerned.
    public var requiresMacFullSecurity = false

    public init(id: String, environments: Set<AttestEnvironment>, rpIDHash: Bytes32) {
        self.id = id
        self.environments = environments
        self.rpIDHash = rpIDHash
    }

    /// The team id: everything before the App ID's first period.
    public var teamID: String { String(id.prefix { $0 != "." }) }

    /// True if `text` has the form of Apple's team ids, which is also that of key ids.
    public static func isTeamID(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }
    }

    /// Computes the hash of `id`.
    public init(id: String, environments: Set<AttestEnvironment>) {
        self.init(
            id: id, environments: environments, rpIDHash: SHA256.hash(Array(id.utf8)))
    }
}
