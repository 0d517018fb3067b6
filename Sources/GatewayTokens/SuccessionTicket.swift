public import Attestation
import Bytes
import Crypto
public import KeyStore

/// The contents of a ticket that an app gets with each enrolment: a later key of the same
/// installation may take the place of this key.
public struct SuccessionTicket: Hashable, Sendable {
    /// The key that the ticket was given to.
    public let keyID: KeyID
    public let installation: InstallationID

    public init(keyID: KeyID, installation: InstallationID) {
        self.keyID = keyID
        self.installation = installation
    }

    public var claim: SuccessionClaim {
        SuccessionClaim(predecessor: keyID, installation: installation)
    }
}

/// The app whose keys may use a ticket.
public struct TicketHolder: Hashable, Sendable {
    public let appID: String
    public let platform: PlatformName
    public let environment: AttestEnvironment

    /// The app that the record's key was enrolled for.
    public init(of record: KeyRecord) {
        appID = record.appID
        platform = record.platform
        environment = record.environment
    }
}

/// Makes tickets that need no storage, and recognises them again.
///
/// A ticket is base64url without padding of
///
///     version(1) | key generation(4) | installation(16) | key id(32)
///     | HMAC-SHA256 of all that and of the holder, first 16 bytes
///
/// It does not end, because a reinstall may come at any time. The registry decides if its key has a
/// successor already, and the holder is not in the ticket, but is what the new key's attestation
/// says.
public struct SuccessionTicketSealer: Sendable {
    private struct Generation: Sendable {
        let id: UInt32
        let key: HMACKey
    }

    private let generations: [Generation]

    private static let version: UInt8 = 1
    private static let bodyByteCount = 1 + 4 + 16 + 32
    private static let tagByteCount = 16
    /// The number of characters of a ticket.
    public static let tokenByteCount = ((bodyByteCount + tagByteCount) * 4 + 2) / 3

    /// `keys`: 32 bytes each; the first seals, and every one opens. Nil for none or another length.
    /// Keys of challenges may be given, because only derived keys are used.
    public init?(keys: [[UInt8]]) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == 32 }) else { return nil }
        generations = keys.map { key in
            let master = HMACKey(key)
            let name = HMACSHA256.authenticate(
                Array("sallyport succession ticket name".utf8), key: master)
            let seal = HMACSHA256.authenticate(
                Array("sallyport succession ticket".utf8), key: master)
            return Generation(id: UInt32(truncatingIfNeeded: name.word0), key: HMACKey(seal))
        }
    }

    /// The text of `ticket`, which only keys of `holder` may use.
    public func text(of ticket: SuccessionTicket, for holder: TicketHolder) -> String {
        let generation = generations[0]
        let id = (0..<4).map { UInt8(truncatingIfNeeded: generation.id >> (24 - 8 * $0)) }
        let body =
            [Self.version] + id + ticket.installation.value.array + ticket.keyID.digest.array
        return Base64.encodeURL(body + Self.tag(body, holder, generation.key))
    }

    /// The ticket in `text`; nil if none of the keys sealed it, or if it is for another holder.
    public func open(_ text: Span<UInt8>, for holder: TicketHolder) -> SuccessionTicket? {
        guard text.count == Self.tokenByteCount, let raw = Base64.decode(text),
            raw.count == Self.bodyByteCount + Self.tagByteCount, raw[0] == Self.version
        else { return nil }
        let bytes = raw.span
        let id = UInt32(truncatingIfNeeded: bytes.bigEndianWord(at: 1) >> 32)
        guard let generation = generations.first(where: { $0.id == id }) else { return nil }
        let body = Array(raw.prefix(Self.bodyByteCount))
        let expected = Self.tag(body, holder, generation.key)
        // Xor instead of ==, so that the time of the comparison does not tell how many bytes were
        // right.
        var difference: UInt8 = 0
        for (index, byte) in expected.enumerated() {
            difference |= byte ^ raw[Self.bodyByteCount + index]
        }
        guard difference == 0, let installation = Bytes16(bytes.extracting(5..<21)),
            let digest = Bytes32(bytes.extracting(21..<53))
        else { return nil }
        return SuccessionTicket(
            keyID: KeyID(digest: digest), installation: InstallationID(value: installation))
    }

    /// The end of a ticket. The holder's texts are set apart by a byte that none of them has.
    private static func tag(
        _ body: [UInt8], _ holder: TicketHolder, _ key: HMACKey
    ) -> [UInt8] {
        var message = body
        for text in [holder.platform.text, holder.environment.rawValue, holder.appID] {
            message += Array(text.utf8) + [0]
        }
        let code = HMACSHA256.authenticate(message.span, key: key)
        return Array(code.array.prefix(tagByteCount))
    }
}
