import Attestation
import Bytes
import KeyStore
import Redis

/// The names under which one gateway's data lies in Redis.
///
///     <prefix>incarnation                    record of the incarnation
///     <prefix>{<key id>}:revoked             revocation mark
///     <prefix>{<key id>}:counter             device state
///     <prefix>{<key id>}:spent:<challenge>   mark of a spent challenge
///     <prefix>{<name>}:signal:<half>         shared count of a signal
///     <prefix>{<token>}:token                mark of an accepted token of DeviceCheck
///     <prefix>{<name>}:quota:<start>-<end>   count of a quota; its period, in seconds since 1970
///
/// In a cluster:
///
///     <prefix>{<tag>}:incarnation            record of one master's incarnation
///     <prefix>{<challenge>}:spent:<key id>   mark of a spent challenge that was sealed for no key
///
/// Key ids and challenge ids are base64url without padding. The braces are the hash tag of Redis
/// Cluster: all of one device lies in one slot. The tag of a record makes it lie in a slot of its
/// master.
struct RedisKeyLayout {
    private let prefix: [UInt8]

    init(prefix: String) { self.prefix = Array(prefix.utf8) }

    fileprivate static let revokedSuffix = Array("}:revoked".utf8)
    fileprivate static let stateSuffix = Array("}:counter".utf8)
    private static let tokenSuffix = Array("}:token".utf8)
    fileprivate static let spentSuffix = Array("}:spent:".utf8)

    /// The key of the record; without a tag for a server that has no slots.
    func record(tag: [UInt8]?) -> [UInt8] {
        guard let tag else { return prefix + Array("incarnation".utf8) }
        return prefix + [0x7B] + tag + Array("}:incarnation".utf8)
    }

    func tag(_ keyID: KeyID) -> [UInt8] { Base64.encodeURLBytes(keyID.digest.array) }

    func tag(_ challenge: Bytes16) -> [UInt8] { Base64.encodeURLBytes(challenge.array) }

    /// The names of one device and of a challenge in its slot.
    func names(_ keyID: KeyID, challenge: Bytes16) -> CounterNames {
        Base64.withURL(keyID.digest) { device in
            Base64.withURL(challenge) {
                CounterNames(prefix, device: device, spent: device, detail: $0)
            }
        }
    }

    /// The names of one device and of a challenge in another slot.
    func names(_ keyID: KeyID, freeChallenge challenge: Bytes16) -> CounterNames {
        Base64.withURL(keyID.digest) { device in
            Base64.withURL(challenge) {
                CounterNames(prefix, device: device, spent: $0, detail: device)
            }
        }
    }

    /// The name of a count that gateways share, for one half of a window.
    func tally(_ name: Bytes16, half: Int64) -> [UInt8] {
        start(tag(name)) + Array("}:signal:\(half)".utf8)
    }

    /// The name of a count of a quota.
    func quota(_ count: QuotaCount) -> [UInt8] {
        let (first, end) = (count.period.lowerBound / 1000, count.period.upperBound / 1000)
        return start(tag(count.name)) + Array("}:quota:\(first)-\(end)".utf8)
    }

    /// The mark of an accepted token of another issuer.
    func names(token id: Bytes16) -> CounterNames {
        CounterNames(spent: start(tag(id)) + Self.tokenSuffix)
    }

    func revoked(_ keyID: KeyID) -> [UInt8] { start(tag(keyID)) + Self.revokedSuffix }

    private func start(_ tag: [UInt8]) -> [UInt8] {
        var name: [UInt8] = []
        name.reserveCapacity(prefix.count + tag.count + 40)
        name.append(contentsOf: prefix)
        name.append(0x7B)
        name.append(contentsOf: tag)
        return name
    }
}

/// The names in one call of the counter script, one after another in one piece of memory.
struct CounterNames {
    private var bytes: [UInt8] = []
    private var revokedEnd = 0
    private var stateEnd = 0

    var revoked: ArraySlice<UInt8> { bytes[..<revokedEnd] }
    var state: ArraySlice<UInt8> { bytes[revokedEnd..<stateEnd] }
    var spent: ArraySlice<UInt8> { bytes[stateEnd...] }

    /// The names of a device, and of a challenge under the tag `spent`, whose name ends with
    /// `detail`.
    fileprivate init(
        _ prefix: [UInt8], device: Span<UInt8>, spent: Span<UInt8>, detail: Span<UInt8>
    ) {
        bytes.reserveCapacity(3 * prefix.count + 4 * device.count + 64)
        append(prefix, device, RedisKeyLayout.revokedSuffix)
        revokedEnd = bytes.count
        append(prefix, device, RedisKeyLayout.stateSuffix)
        stateEnd = bytes.count
        append(prefix, spent, RedisKeyLayout.spentSuffix)
        bytes.append(addingCapacity: detail.count) { $0.append(contentsOf: detail) }
    }

    /// The name of a mark that belongs to no device.
    fileprivate init(spent: [UInt8]) { bytes = spent }

    private mutating func append(_ prefix: [UInt8], _ tag: Span<UInt8>, _ suffix: [UInt8]) {
        bytes.append(addingCapacity: prefix.count + 1 + tag.count + suffix.count) { output in
            output.append(contentsOf: prefix.span)
            output.append(0x7B)
            output.append(contentsOf: tag)
            output.append(contentsOf: suffix.span)
        }
    }
}
