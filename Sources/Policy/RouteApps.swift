/// The apps whose requests a route accepts, among those of the configuration.
public enum RouteApps: Hashable, Sendable {
    /// The route names no app, which is enough as long as there is only one.
    case unnamed
    case any
    /// The apps by their ids. `areAll` says that no other app is configured.
    case named(Set<String>, areAll: Bool)

    /// The only apps that are let in; nil for all.
    public var only: Set<String>? {
        if case .named(let ids, areAll: false) = self { ids } else { nil }
    }

    /// True if `other` accepts every app that this one does.
    func isSubset(of other: RouteApps) -> Bool {
        guard let theirs = other.only else { return true }
        guard case .named(let ids, _) = self else { return false }
        return ids.isSubset(of: theirs)
    }
}
