public import Attestation
public import Bytes

/// The caller's knowledge about an Android attestation that is to be explained.
///
/// Nothing has to be given: what is not given is visibly skipped, and the object may be valid
/// without it.
public struct AndroidExpectations: Sendable {
    /// The moment at which the chain is judged, in seconds since 1970.
    public var seconds: Int64
    /// The challenge as the app got it.
    public var challenge: [UInt8]?
    /// The key id that the client names.
    public var keyID: KeyID?
    /// The apps of a gateway, by whose demands the key is judged as the gateway would. If there are
    /// any, the packages, digests, level, boot keys and patch age below do not count.
    public var apps: [AppIdentity] = []
    /// The packages that may own the key.
    public var packages: [String] = []
    /// SHA-256 of each certificate that may have signed them.
    public var signingDigests: [Bytes32] = []
    /// The roots to trust instead of Google's; empty trusts ``AndroidRoots/published``.
    public var roots: [AndroidRoot] = []
    /// The revocation list in which the serial numbers are looked up.
    public var revocations: RevocationList?
    /// The least security level; software, too, may be explained.
    public var securityLevelMin = AndroidSecurityLevel.trustedEnvironment
    /// Keys of other systems than the maker's that may have verified the boot of a locked phone.
    public var bootKeys: Set<Bytes32> = []
    /// True if an unlocked phone and any system are accepted.
    public var acceptsAnyBootState = false
    /// The most days since the first day of the patch level's month; nil takes any patch level.
    public var patchAgeMaxDays: Int?
    /// The seconds by which the clock may be off when the dates of certificates are judged.
    public var clockSkewSeconds: Int64 = 0

    /// Makes expectations without any knowledge but the moment.
    public init(at seconds: Int64) { self.seconds = seconds }

    /// The names of the packages that may own the key.
    var packageNames: [String] {
        apps.isEmpty ? packages : apps.filter { $0.platform == .android }.map(\.id)
    }

    /// The policy for a key. `id`: the app as the phone names it; nil if it names none.
    func policy(for id: AttestationApplicationID?) -> KeyPolicy {
        var given = KeyPolicy(securityLevelMin: securityLevelMin)
        given.bootKeys = bootKeys
        given.patchAgeMaxDays = patchAgeMaxDays
        let policies = id.map(owners)?.compactMap(\.androidDemands).map(KeyPolicy.init) ?? []
        var policy = policies.dropFirst().reduce(policies.first ?? given) { $0.joined(with: $1) }
        policy.acceptsAnyBootState = acceptsAnyBootState
        return policy
    }

    /// The apps that own the key or, if none has the digests, those that have its packages' names.
    private func owners(_ id: AttestationApplicationID) -> [AppIdentity] {
        (try? AppChecks.apps(of: id, among: apps))
            ?? apps.filter { app in id.packages.contains { $0.name == app.id } }
    }
}
