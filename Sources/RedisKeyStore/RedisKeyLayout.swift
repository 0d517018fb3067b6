import AppAttest
import Bytes

/// The names under which one gateway's data lies in Redis.
///
///     <prefix>incarnation                    record of the incarnation
///     <prefix>{<key id>}:revoked             revocation mark
///     <prefix>{<key id>}:counter             device state
///     <prefix>{<key id>}:spent:<challenge>   mark of a spent challenge
///
/// Key ids and challenge ids are base64url without padding. The braces are the hash tag of Redis
/// Cluster: all of one device lies in one slot. The incarnation record is given to the scripts as a
/// key like any other: where a server demands that all keys of a call share a slot, each slot can
/// have a record of its own, named by a tag of that slot, without any other change.
struct RedisKeyLayout {
    private let prefix: [UInt8]
    let incarnation: [UInt8]

    init(prefix: String) {
        self.prefix = Array(prefix.utf8)
        incarnation = self.prefix + Array("incarnation".utf8)
    }

    private static let revokedSuffix = Array("}:revoked".utf8)
    private static let counterSuffix = Array("}:counter".utf8)
    private static let spentSuffix = Array("}:spent:".utf8)

    /// What all names of one device begin with.
    func device(_ keyID: KeyID) -> [UInt8] {
        var name = prefix
        name.reserveCapacity(prefix.count + 44)
        name.append(0x7B)
        name.append(contentsOf: Base64.encodeURLBytes(keyID.digest.array))
        return name
    }

    func revoked(_ device: [UInt8]) -> [UInt8] { device + Self.revokedSuffix }

    func counter(_ device: [UInt8]) -> [UInt8] { device + Self.counterSuffix }

    func spent(_ device: [UInt8], challenge: Bytes16) -> [UInt8] {
        device + Self.spentSuffix + Base64.encodeURLBytes(challenge.array)
    }
}
