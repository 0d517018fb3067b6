/// The versions of an app that a route serves.
public struct VersionBounds: Hashable, Sendable {
    /// The oldest version that is not outdated.
    public var min: BundleVersion
    /// The oldest version that is not refused, or nil for ``min``.
    public var grace: BundleVersion?

    public init(min: BundleVersion, grace: BundleVersion? = nil) {
        self.min = min
        self.grace = grace
    }

    /// The oldest version that is not refused.
    public var floor: BundleVersion { grace ?? min }

    func verdict(of text: String) -> VersionRule.Verdict {
        guard let order = min.order(of: text) else { return .malformed }
        guard order == .before else { return .current }
        guard let grace, grace.order(of: text) != .before else { return .tooOld }
        return .outdated
    }
}

/// The rule of a route's `min_bundle_version`.
public struct VersionRule: Hashable, Sendable {
    public enum Verdict: Sendable {
        case current
        /// The request is served, and told that its app is old.
        case outdated
        case tooOld
        /// The version is not numbers and periods, so it cannot be compared.
        case malformed
        case missing
    }

    /// The action on a request whose app does not report its version, as on all systems before
    /// iOS 27.
    public enum Unknown: String, Sendable, CaseIterable {
        case deny
        /// The request is served, and counted as outdated.
        case outdated
        case pass
    }

    /// The bounds for apps that ``apps`` does not name, or nil to accept any of their versions.
    public var common: VersionBounds?
    /// The bounds of single apps, by app id.
    public var apps: [String: VersionBounds] = [:]
    public var missing = Unknown.deny

    public init(common: VersionBounds? = nil) { self.common = common }

    public func bounds(of appID: String) -> VersionBounds? {
        apps.isEmpty ? common : apps[appID] ?? common
    }

    /// The verdict on a request by this version of an app. Nil stands for an unknown version or
    /// app.
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
