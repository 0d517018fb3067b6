import EventLoop
import Policy

/// The versions of each app that metrics name: the newest ones, so that a release is visible from
/// its first request on. The counts of all others from then on are summed.
final class NamedVersions: Sendable {
    private struct App {
        var named: Set<String> = []
        /// The counts of versions when their names were dropped, because scrapes have seen them
        /// already.
        var seen: [String: [UInt64]] = [:]
    }

    private let apps = Locked<[String: App]>([:])

    /// The counts by the value of the label `version`.
    func rows(of id: String, _ counts: AppCounts) -> [(version: String, counts: [UInt64])] {
        let newest = counts.byVersion.keys.compactMap { BundleVersion($0) }
            .sorted(by: Self.isNewer).prefix(Self.countMax).map(\.text)
        let named = Set(newest)
        return apps.withLock { apps in
            var app = apps[id] ?? App()
            for version in app.named.subtracting(named) {
                app.seen[version] = counts.byVersion[version]
            }
            app.named = named
            apps[id] = app
            var other = counts.other
            for (version, counts) in counts.byVersion where !named.contains(version) {
                let seen = app.seen[version] ?? AppCounts.none
                for index in other.indices { other[index] &+= counts[index] &- seen[index] }
            }
            return newest.map { ($0, counts.byVersion[$0] ?? AppCounts.none) }
                + [("other", other), (Self.unknown, counts.unknown)]
        }
    }

    private static func isNewer(_ left: BundleVersion, _ right: BundleVersion) -> Bool {
        switch left.order(of: right.text) {
        case .before: true
        case .after, nil: false
        // 4 and 4.0 are different texts, always in the same order.
        case .same: left.text < right.text
        }
    }

    /// The value of the label for requests whose key is not known.
    static let unknown = "unknown"
    /// The most named versions of an app: with 8 buckets, 176 series at most.
    static let countMax = 20
}
