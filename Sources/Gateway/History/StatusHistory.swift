import Attestation
import EventLoop
import Judgement
import Telemetry

/// The counts of the meters in the last hour and day. Requests do no work for it: the control
/// thread reads the meters now and then.
///
/// Time is counted in minutes since the start, by the clock that never steps.
struct StatusHistory: Sendable {
    /// The counts of the gateway as a whole.
    enum GatewayColumn: Int, CaseIterable {
        case attestChallenges
        case attested
        case firstAssertions
        case verified
        case conflicts
        case linesLost
        case internalFailures
        case storeUnavailable
        case busy
        case retriesDenied
        case registryFailures
        case receiptsInvalid
        case appleKeyRefusals
    }

    /// The counts of a route, besides buckets and durations.
    enum RouteColumn: Int, CaseIterable {
        case ended
        /// Refused by the gateway, which failures of an upstream are not.
        case refused
        /// Faulty, but let pass because the route only observes this cohort.
        case wouldBeRefused
        case serverErrors
        case invalidProofs
        case challengesExpired
    }

    /// The counts of a platform, summed over its apps.
    enum PlatformColumn: Int, CaseIterable {
        case attested
        case firstAssertions
        case verified

        var name: StaticString {
            switch self {
            case .attested: "attested"
            case .firstAssertions: "first_assertions"
            case .verified: "verified"
            }
        }

        /// The columns that a platform has. Only a counter tells which assertion is a key's first.
        static func steps(of platform: PlatformName) -> [PlatformColumn] {
            let hasCounters = PlatformEntry.all.contains { $0.name == platform && $0.hasCounters }
            return allCases.filter { $0 != .firstAssertions || hasCounters }
        }
    }

    enum UpstreamColumn: Int, CaseIterable {
        case requests
        case failures
    }

    /// The counts of a quota.
    enum QuotaColumn: Int, CaseIterable {
        case charged
        case exhausted
        case missing
        case numbered
        case unavailable
    }

    /// A version of an app, with the names that metrics use.
    struct Version: Hashable, Sendable {
        let app: String
        let platform: PlatformName
        let version: String
    }

    /// A server of an upstream, with the names that metrics use.
    struct Server: Hashable, Sendable {
        let upstream: String
        let server: String
    }

    private let startedAt: MonotonicInstant
    private(set) var minute = 0
    var servers = ServerTimes()
    var gateway = HistoryTable<String>(
        columnCount: GatewayColumn.allCases.count + bucketCount(SignatureTimes.bounds),
        countMax: 1)
    var routes = HistoryTable<String>(
        columnCount: RouteColumn.allCases.count + RequestBucket.allCases.count
            + bucketCount(.requestDuration), countMax: routeCountMax)
    var versions = HistoryTable<Version>(
        columnCount: RequestBucket.allCases.count, countMax: versionCountMax)
    var platforms = HistoryTable<PlatformName>(
        columnCount: PlatformColumn.allCases.count, countMax: platformCountMax)
    var upstreams = HistoryTable<String>(
        columnCount: UpstreamColumn.allCases.count + bucketCount(.requestDuration),
        countMax: upstreamCountMax)
    var stores = HistoryTable<String>(
        columnCount: bucketCount(.storeDuration), countMax: storeCountMax)

    /// The failures in apps.
    var failureCauses = HistoryTable<FailureCause>(columnCount: 1, countMax: failureCauseCountMax)
    var failureVersions = HistoryTable<FailureVersion>(
        columnCount: 1, countMax: failureVersionCountMax)
    /// Requests that passed by tokens of other issuers.
    var foreignUses = HistoryTable<ForeignUse>(columnCount: 1, countMax: foreignUseCountMax)
    var quotas = HistoryTable<String>(
        columnCount: QuotaColumn.allCases.count, countMax: quotaCountMax)

    init(startedAt: MonotonicInstant) { self.startedAt = startedAt }

    /// Begins the slots of `now`. Counts that were taken before this call belong to earlier slots.
    mutating func advance(to now: MonotonicInstant) {
        let next = Int(clamping: now.nanoseconds(since: startedAt) / 60_000_000_000)
        guard next > minute else { return }
        gateway.advance(from: minute, to: next)
        routes.advance(from: minute, to: next)
        versions.advance(from: minute, to: next)
        platforms.advance(from: minute, to: next)
        upstreams.advance(from: minute, to: next)
        stores.advance(from: minute, to: next)
        failureCauses.advance(from: minute, to: next)
        failureVersions.advance(from: minute, to: next)
        foreignUses.advance(from: minute, to: next)
        quotas.advance(from: minute, to: next)
        minute = next
    }

    /// The time since the first slot of a range began, in milliseconds.
    func age(of range: HistoryRange, at now: MonotonicInstant) -> Int64 {
        let first =
            minute / range.minutesPerSlot - range.slotCount(at: minute) + 1
        let start = Int64(first) * Int64(range.minutesPerSlot) * 60_000
        return Int64(clamping: now.nanoseconds(since: startedAt) / 1_000_000) - start
    }

    static func bucketCount(_ bounds: HistogramBounds) -> Int { bounds.nanoseconds.count + 1 }

    var byteCount: Int {
        gateway.byteCount + routes.byteCount + versions.byteCount + platforms.byteCount
            + upstreams.byteCount + stores.byteCount + failureCauses.byteCount
            + failureVersions.byteCount
            + foreignUses.byteCount + quotas.byteCount
    }

    /// The number of names that found no room.
    var leftOutCount: Int {
        routes.leftOut.count + versions.leftOut.count + upstreams.leftOut.count
            + failureCauses.leftOut.count + failureVersions.leftOut.count
            + foreignUses.leftOut.count + quotas.leftOut.count
    }

    /// The only name in ``gateway``.
    static let whole = "gateway"
    /// The most routes, of some 19 KB each, so that with all of them the history stays below
    /// ``byteCountMax``. An operator with more routes should use metrics.
    static let routeCountMax = 128
    /// The most versions, of 5 KB each. Apps have 20 named versions at most
    /// (``NamedVersions/countMax``), so this is enough for some 12 apps.
    static let versionCountMax = 256
    /// The most platforms, of some 2 KB each. There are two.
    static let platformCountMax = 8
    /// The most upstreams, of some 12 KB each.
    static let upstreamCountMax = 64
    /// The number of stores: registry and counters.
    static let storeCountMax = 2
    /// All causes with names of their own, and their summaries, of 0.6 KB each.
    static let failureCauseCountMax =
        ClientFailures.nameCountMax + FailureReport.Activity.allCases.count
        * FailureReport.Code.allCases.count
    /// All versions with names of their own, and the summaries of 12 apps, of `unknown` and of
    /// `other`.
    static let failureVersionCountMax =
        ClientFailures.nameCountMax + 14 * FailureReport.Code.allCases.count
    /// The most combinations of routes, issuers and subjects that are told apart, of some 600 bytes
    /// each.
    static let foreignUseCountMax = 256
    /// The most quotas, of some 3 KB each.
    static let quotaCountMax = 64
    /// The most bytes of all rings together.
    static let byteCountMax = 6 * 1024 * 1024
}
