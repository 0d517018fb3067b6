import Bytes
import Crypto

/// A session token that was found authentic. It is an object because requests pass it from step to
/// step, and its contents are large to copy.
public final class OpenedSessionToken: Sendable {
    public let token: SessionToken

    public init(_ token: SessionToken) { self.token = token }
}

/// Session tokens that were found authentic, so that each is authenticated and parsed once and not
/// with every request that brings it.
///
/// Only authentic tokens get in, so that a stranger can neither fill it nor push anything out. A
/// token is identified by its SHA-256 and is not kept itself. Each time it is checked that the
/// token is in time, for the route, bound to the request, and not revoked.
public struct AuthenticTokens {
    private struct Entry {
        let digest: Bytes32
        let opened: OpenedSessionToken
    }

    private let countMax: Int
    /// The entries; empty until the first token. Each token has two places, which differ in the
    /// last bit.
    private var entries: [Entry?] = []

    /// `countMax`: the most tokens that are kept, some 500 bytes each; a power of two. A token that
    /// was pushed out is authenticated once more.
    public init(countMax: Int = 4096) {
        precondition(countMax > 1 && countMax.nonzeroBitCount == 1)
        self.countMax = countMax
    }

    /// Forgets all tokens, as is needed when the keys of tokens have changed.
    public mutating func removeAll() { entries = [] }

    /// The contents of `token`, as ``SessionTokenSealer/open(_:)`` returns them. `sealer` has the
    /// same keys at each call, or ``removeAll()`` comes between.
    public mutating func open(
        _ token: Span<UInt8>, by sealer: SessionTokenSealer
    ) throws(SessionTokenFailure) -> OpenedSessionToken {
        // Too long for the sealer, so hashing it would be wasted.
        guard token.count <= SessionTokenSealer.tokenByteCountMax else { throw .malformed }
        let digest = SHA256.hash(token)
        let place = Int(truncatingIfNeeded: digest.word0) & (countMax - 1)
        if let known = find(digest, at: place) ?? find(digest, at: place ^ 1) { return known }
        let opened = OpenedSessionToken(try sealer.open(token))
        keep(Entry(digest: digest, opened: opened), at: place)
        return opened
    }

    private func find(_ digest: Bytes32, at place: Int) -> OpenedSessionToken? {
        guard !entries.isEmpty, let entry = entries[place] else { return nil }
        return entry.digest == digest ? entry.opened : nil
    }

    /// Keeps an entry. The newer of two goes to its first place, the older to the other.
    private mutating func keep(_ entry: Entry, at place: Int) {
        if entries.isEmpty { entries = Array(repeating: nil, count: countMax) }
        if let older = entries[place] { entries[place ^ 1] = older }
        entries[place] = entry
    }
}
