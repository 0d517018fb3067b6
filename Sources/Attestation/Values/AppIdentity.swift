public import Bytes
import Crypto

/// One of the operator's apps: its id, what vouches for its keys, and the environments that they
/// may come from. A class, because requests hand it on from stage to stage.
public final class AppIdentity: Hashable, Sendable {
    /// The id by which the platform knows the app.
    public let id: String
    public let platform: PlatformName
    public let environments: Set<AttestEnvironment>
    /// SHA-256 of ``id``.
    public let idDigest: Bytes32
    /// Further demands on a key that enrols; nil if there are none.
    public let demands: (any EnrolmentDemands)?

    public init(
        id: String, platform: PlatformName, environments: Set<AttestEnvironment>,
        demands: (any EnrolmentDemands)? = nil
    ) {
        self.id = id
        self.platform = platform
        self.environments = environments
        self.demands = demands
        idDigest = SHA256.hash(Array(id.utf8))
    }

    public static func == (left: AppIdentity, right: AppIdentity) -> Bool {
        left.id == right.id && left.platform == right.platform
            && left.environments == right.environments
            && left.demands.map { AnyHashable($0) } == right.demands.map { AnyHashable($0) }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The demands of an app on keys that enrol, in the form of its platform.
public protocol EnrolmentDemands: Hashable, Sendable {}
