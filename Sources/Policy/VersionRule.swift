/// The versions of an app that a route serves.
public struct VersionBounds: Hashable, Sendable {
    /// What is older is outdated.
    public var min: BundleVersion
    /// What is older than this is refused; nil for ``min``.
    public var grace: BundleVersion?

    public init(min: BundleVersion, grace: BundleVersion? = nil) {
        self.min = min
        self.grace = grace
    }

    /// The oldest that is not refused.
    public var floor: BundleVersion { grace ?? min }

    func verdict(of text: String) -> VersionRule.Verdict {
        guard let order = min.order(of: text) else { return .malformed }
        guard order == .before else { return .current }
        guard let grace, grace.order(of: text) != .before else { return .tooOld }
        return .outdated
    }
}

/// `min_bundle_version` of a route.
public struct VersionRule: Hashable, Sendable {
    public enum Verdict: Sendable {
        case current
        /// Served still, and told that it is old.
        case outdated
        case tooOld
        /// Not numbers and periods: nothing that can be compared.
        case malformed
        case missing
    }

    /// What becomes of a request whose app does not tell its version: all before iOS 27.
    public enum Unknown: String, Sendable, CaseIterable {
        case deny
        /// Served, and counted as outdated.
        case outdated
        case pass
    }

    /// For apps that ``apps`` does not name; nil to take any version of them.
    public var common: VersionBounds?
    /// By app id.
    public var apps: [String: VersionBounds] = [:]
    public var missing = Unknown.deny

    public init(common: VersionBounds? = nil) { self.common = common }

    public func bounds(of appID: String) -> VersionBounds? {
        apps.isEmpty ? common : apps[appID] ?? common
    }

    /// What a request by this version of an app is, nil standing for none that is known.
    public func verdict(version: String?, appID: String?) -> Verdict {
        if let appID {
            guard let bounds = bounds(of: appID) else { return .current }
            if let version { return bounds.verdict(of: version) }
        }
        return switch missing {
        case .deny: .missing
        case .outdated: .outdated
        case .pass: .current
        }
    }
}
