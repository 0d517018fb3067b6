import EventLoop
import Judgement
import Policy
import Telemetry

/// The counts of one worker about one app, by the version of the app and by bucket. Only its thread
/// writes them.
final class AppMeter: Sendable {
    private let byVersion = Locked<[String: CountBlock]>([:])
    private let unknown = CountBlock(count: RequestBucket.allCases.count)
    private let other = CountBlock(count: RequestBucket.allCases.count)

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

    static let none = [UInt64](repeating: 0, count: RequestBucket.allCases.count)
}

extension [UInt64] {
    fileprivate mutating func add(_ block: CountBlock) {
        for index in indices { self[index] &+= block.value(index) }
    }
}
