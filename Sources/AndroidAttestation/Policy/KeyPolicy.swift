package import Bytes

/// What a key and its phone must be, apart from the app: ``AndroidDemands`` makes it for the
/// gateway, and `explain` may make a laxer one.
package struct KeyPolicy: Sendable {
    package var securityLevelMin: AndroidSecurityLevel
    package var bootKeys: Set<Bytes32> = []
    /// True if an unlocked phone and any system are accepted.
    package var acceptsAnyBootState = false
    package var patchAgeMaxDays: Int?

    package init(securityLevelMin: AndroidSecurityLevel) {
        self.securityLevelMin = securityLevelMin
    }

    init(_ demands: AndroidDemands) {
        securityLevelMin = demands.securityLevel
        bootKeys = demands.bootKeys
        patchAgeMaxDays = demands.patchAgeMaxDays
    }

    /// The policy that accepts what both accept, for a key that several apps own.
    func joined(with other: KeyPolicy) -> KeyPolicy {
        var policy = KeyPolicy(securityLevelMin: max(securityLevelMin, other.securityLevelMin))
        policy.bootKeys = bootKeys.intersection(other.bootKeys)
        policy.patchAgeMaxDays = [patchAgeMaxDays, other.patchAgeMaxDays].compactMap(\.self).min()
        return policy
    }
}
