import Bytes
package import Crypto
import JSON
import JWT

/// The keys that sign in for a team, and their tokens. Touches no network and no clock.
///
/// Keys are tried in their order. One that Apple refuses is skipped for a while, so that the next
/// one carries on: a rotation needs both in the configuration while it lasts.
package struct AppleCredentials {
    /// A token to try, with the index of its key.
    package struct Credential: Hashable {
        package let token: String
        package let keyID: String
        fileprivate let index: Int
    }

    private struct Holder {
        let key: AppleKey
        var token = ""
        /// The time of the token in seconds since 1970.
        var signedAt = Int64.min
        /// The time at which the key is used again, in nanoseconds of the monotonic clock.
        var refusedUntil: UInt64 = 0
    }

    private var holders: [Holder]

    /// The time for which a token is reused. Apple accepts one for an hour after `iat`, but signing
    /// costs little, and a clock may be wrong.
    package static let tokenLifeSeconds: Int64 = 10 * 60
    /// The time after which a refused key is tried again, because the reason may have been our
    /// clock.
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

    /// Apple does not accept this key, or not its token. False if that is known already.
    package mutating func refuse(_ credential: Credential, now nanoseconds: UInt64) -> Bool {
        // A fresh token may be accepted, if the clock was set meanwhile.
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
        // After a clock was set back, a token may be from the future.
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
