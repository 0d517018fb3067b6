import Attestation
import EventLoop
import Judgement
import Policy
import Telemetry

/// The counts of one worker about one app, by the version of the app and by bucket. Only its thread
/// writes them.
final class AppMeter: Sendable {
    /// A step of an app's keys, which the status page follows.
    enum Step: Int, CaseIterable {
        /// An enrolment was accepted, also one of a key that is enrolled already.
        case attested
        /// A key's first assertion was accepted, as its counter tells.
        case firstAssertion
    }

    let platform: PlatformName
    private let steps = CountBlock(count: Step.allCases.count)
    private let byVersion = Locked<[String: CountBlock]>([:])
    private let unknown = CountBlock(count: RequestBucket.allCases.count)
    private let other = CountBlock(count: RequestBucket.allCases.count)

    init(platform: PlatformName) { self.platform = platform }

    func count(_ step: Step) { steps.add(step.rawValue) }

    /// Counts a request. `version`: the version that Apple signed when the key was made; nil if it
    /// is not known.
    func count(_ bucket: RequestBucket, version: String?) {
        block(of: version).add(Int(bucket.rawValue))
    }

    private func block(of version: String?) -> CountBlock {
        guard let version else { return unknown }
        return byVersion.withLock { blocks in
            if let known = blocks[version] { return known }
            // Developers choose versions: those that cannot be compared, or are too many, are
            // counted as one.
            guard blocks.count < Self.versionCountMax, BundleVersion(version) != nil else {
                return other
            }
            let fresh = CountBlock(count: RequestBucket.allCases.count)
            blocks[version] = fresh
            return fresh
        }
    }

    /// Adds the counts of this worker to those of others.
    func add(to sum: inout AppCounts) {
        for (version, block) in byVersion.withLock({ $0 }) {
            sum.byVersion[version, default: AppCounts.none].add(block)
        }
        sum.unknown.add(unknown)
        sum.other.add(other)
        sum.steps.add(steps)
        sum.platform = platform
    }

    /// The most versions of an app, of some 200 bytes each: more than it has in use at once.
    static let versionCountMax = 256
}

/// The counts of all workers about one app, by bucket.
struct AppCounts {
    fileprivate(set) var byVersion: [String: [UInt64]] = [:]
    /// The counts of keys whose version is not known.
    fileprivate(set) var unknown = Self.none
    /// The counts of all versions that are not counted separately.
    fileprivate(set) var other = Self.none
    fileprivate var steps = [UInt64](repeating: 0, count: AppMeter.Step.allCases.count)
    fileprivate(set) var platform = PlatformName.apple

    /// The requests that were verified.
    var verified: UInt64 {
        let bucket = Int(RequestBucket.verified.rawValue)
        return byVersion.values.reduce(unknown[bucket] &+ other[bucket]) { $0 &+ $1[bucket] }
    }

    func count(of step: AppMeter.Step) -> UInt64 { steps[step.rawValue] }

    static let none = [UInt64](repeating: 0, count: RequestBucket.allCases.count)
}

extension [UInt64] {
    fileprivate mutating func add(_ block: CountBlock) {
        for index in indices { self[index] &+= block.value(index) }
    }
}
