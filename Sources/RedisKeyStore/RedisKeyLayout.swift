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

    /// The key of the record; without a tag for a server that has no slots.
    func record(tag: [UInt8]?) -> [UInt8] {
        guard let tag else { return prefix + Array("incarnation".utf8) }
        return name(tag, "}:incarnation")
    }

    func tag(_ keyID: KeyID) -> [UInt8] { Base64.encodeURLBytes(keyID.digest.array) }

    func tag(_ challenge: Bytes16) -> [UInt8] { Base64.encodeURLBytes(challenge.array) }

    /// Appends the names of the keys of `part` to `command`, written straight into it; of a token,
    /// which has one, for `spend`.
    func append(
        _ names: CounterNames, _ part: CounterScript.Part, to command: inout RedisCommand
    ) {
        Base64.withURL(names.challenge) { challenge in
            guard let keyID = names.keyID else {
                return append(challenge, Self.tokenSuffix, to: &command)
            }
            Base64.withURL(keyID.digest) { device in
                if part != .spend {
                    append(device, Self.revokedSuffix, to: &command)
                    append(device, Self.stateSuffix, to: &command)
                }
                guard part != .count else { return }
                let (tag, detail) = names.isFree ? (challenge, device) : (device, challenge)
                append(tag, Self.spentSuffix, detail, to: &command)
            }
        }
    }

    private static let revokedSuffix: StaticString = "}:revoked"
    private static let stateSuffix: StaticString = "}:counter"
    private static let spentSuffix: StaticString = "}:spent:"
    private static let tokenSuffix: StaticString = "}:token"

    private func append(
        _ tag: Span<UInt8>, _ suffix: StaticString, _ detail: Span<UInt8> = Span(),
        to command: inout RedisCommand
    ) {
        let byteCount = prefix.count + 1 + tag.count + suffix.utf8CodeUnitCount + detail.count
        command.append(byteCount: byteCount) { output in
            output.append(contentsOf: prefix.span)
            output.append(0x7B)
            output.append(contentsOf: tag)
            output.append(suffix)
            output.append(contentsOf: detail)
        }
    }

    /// The name of a count that gateways share, for one half of a window.
    func tally(_ name: Bytes16, half: Int64) -> [UInt8] {
        self.name(tag(name), "}:signal:\(half)")
    }

    /// The name of a count of a quota.
    func quota(_ count: QuotaCount) -> [UInt8] {
        let (first, end) = (count.period.lowerBound / 1000, count.period.upperBound / 1000)
        return name(tag(count.name), "}:quota:\(first)-\(end)")
    }

    func revoked(_ keyID: KeyID) -> [UInt8] {
        name(tag(keyID), Self.revokedSuffix.description)
    }

    private func name(_ tag: [UInt8], _ suffix: String) -> [UInt8] {
        prefix + [0x7B] + tag + Array(suffix.utf8)
    }
}

/// The parts of the names of the keys of one call of the counter script.
struct CounterNames {
    /// The device; nil for a token of another issuer, whose id takes the place of the challenge.
    var keyID: KeyID?
    var challenge: Bytes16
    /// True if the challenge lies in a slot of its own.
    var isFree = false
}
