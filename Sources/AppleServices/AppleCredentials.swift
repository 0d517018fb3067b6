import Bytes
package import Crypto
import JSON
import JWT

/// Which key signs in for a team, and with which token. Touches no network and no clock.
///
/// Keys are tried in their order. One that Apple refuses is passed over for a while, so that the
/// next one carries on: a rotation needs both in the configuration for as long as it takes.
package struct AppleCredentials {
    /// A token to try, and how to speak of it afterwards.
    package struct Credential: Hashable {
        package let token: String
        package let keyID: String
        fileprivate let index: Int
    }

    private struct Holder {
        let key: AppleKey
        var token = ""
        /// Seconds since 1970; of the token.
        var signedAt = Int64.min
        /// When the key is used again; nanoseconds of the monotonic clock.
        var refusedUntil: UInt64 = 0
    }

    private var holders: [Holder]

    /// Apple takes a token for an hour after `iat`; signing costs little, and a clock may be off.
    package static let tokenLifeSeconds: Int64 = 10 * 60
    /// A key that Apple refused is tried again after as long: it may have been our clock.
    package static let refusalNanoseconds: UInt64 = 10 * 60 * 1_000_000_000

    package init(_ keys: [AppleKey]) { holders = keys.map { Holder(key: $0) } }

    package func has(team teamID: String) -> Bool { holders.contains { $0.key.teamID == teamID } }

    /// The keys to try for `teamID`, best first: those that were not refused lately, then the
    /// others, so that something is tried even if all were refused. `seconds` is the time since
    /// 1970.
    package mutating func candidates(
        team teamID: String, now nanoseconds: UInt64, seconds: Int64
    ) throws(CryptoError) -> [Credential] {
        let indices = holders.indices.filter { holders[$0].key.teamID == teamID }
        let refused = indices.filter { holders[$0].refusedUntil > nanoseconds }
        let good = indices.filter { holders[$0].refusedUntil <= nanoseconds }
        var candidates: [Credential] = []
        for index in good + refused {
            let token = try token(index, seconds)
            let keyID = holders[index].key.keyID
            candidates.append(Credential(token: token, keyID: keyID, index: index))
        }
        return candidates
    }

    /// Apple does not take this key, or not its token. False if that is known.
    package mutating func refuse(_ credential: Credential, now nanoseconds: UInt64) -> Bool {
        // A fresh one may do, where the clock was set meanwhile.
        holders[credential.index].signedAt = .min
        guard holders[credential.index].refusedUntil <= nanoseconds else { return false }
        holders[credential.index].refusedUntil = nanoseconds + Self.refusalNanoseconds
        return true
    }

    package mutating func accept(_ credential: Credential) {
        holders[credential.index].refusedUntil = 0
    }

    private mutating func token(_ index: Int, _ seconds: Int64) throws(CryptoError) -> String {
        let holder = holders[index]
        // A clock that was set back makes a token of the future.
        let isFresh =
            holder.signedAt <= seconds && seconds < holder.signedAt + Self.tokenLifeSeconds
        if holder.signedAt != .min, isFresh { return holder.token }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("iss", string: holder.key.teamID)
        writer.member("iat", int: seconds)
        writer.endObject()
        let claims = writer.finish()
        let token = String(
            decoding: try holder.key.signer.token(claims: claims.readable), as: UTF8.self)
        holders[index].token = token
        holders[index].signedAt = seconds
        return token
    }
}
