/// The apps whose requests a route takes, among those of the configuration.
public enum RouteApps: Hashable, Sendable {
    /// The route does not say, which is right as long as there is one app.
    case unnamed
    case any
    /// The apps by their ids. `areAll` says that no other app is configured.
    case named(Set<String>, areAll: Bool)

    /// The only ones that are let in; nil for all.
    public var only: Set<String>? {
        if case .named(let ids, areAll: false) = self { ids } else { nil }
    }

    /// Whether `other` takes whatever comes in here.
    func isSubset(of other: RouteApps) -> Bool {
        guard let theirs = other.only else { return true }
        guard case .named(let ids, _) = self else { return false }
        return ids.isSubset(of: theirs)
    }
}
