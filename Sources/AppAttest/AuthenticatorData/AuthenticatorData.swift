public import Bytes
import CBOR
public import Crypto

/// The data that the authenticator signs (WebAuthn section 6.1, as App Attest uses it).
///
/// Layout: `rpIdHash(32) | flags(1) | counter(4, big-endian)`. An attestation goes on with
/// `aaguid(16) | credIdLen(2) | credId | COSE key`. Both may end in one extension map. Devices set
/// AT (0x40) in assertions that carry no credential, and leave ED (0x80) clear before an extension
/// map, so the flags say nothing about what follows: the structure is read by position alone.
public struct AuthenticatorData: Hashable, Sendable {
    /// The parts that a truncated object may lack.
    public enum Part: String, Sendable {
        case header
        case aaguid = "AAGUID"
        case credentialID = "credential id"
        case publicKey = "credential public key"
    }

    /// SHA-256 of the App ID.
    public let rpIDHash: Bytes32
    /// The flags as sent. The signature covers them, but nothing relies on them.
    public let flags: UInt8
    /// The number of assertions that the key has made; 0 in an attestation.
    public let counter: UInt32
    /// Present in attestations only.
    public let credential: AttestedCredential?
    /// The trailing map (iOS 27, macOS 27), nil if there is none.
    public let extensions: ExtensionData?

    /// The fixed part that attestations and assertions share.
    public static let headerByteCount = 37
    /// The most bytes of authenticator data. Real ones have 37 to 226; the CDhash entitlement adds
    /// two more members.
    public static let byteCountMax = 1024
    static let limits = CBORLimits(byteCountMax: byteCountMax, depthMax: 4)

    /// Reads an assertion's authenticator data: 37 bytes, then nothing or exactly one map.
    public init(assertion bytes: Span<UInt8>) throws(Malformation) {
        (rpIDHash, flags, counter) = try Self.header(of: bytes)
        credential = nil
        extensions = try ExtensionData(trailing: bytes, from: Self.headerByteCount)
    }

    /// Reads an attestation's authenticator data: the header, the credential, then nothing or
    /// exactly one map.
    public init(attestation bytes: Span<UInt8>) throws(Malformation) {
        (rpIDHash, flags, counter) = try Self.header(of: bytes)
        var reader = ByteReader(bytes)
        guard reader.readSpan(byteCount: Self.headerByteCount) != nil else {
            throw .truncated(.header)
        }
        guard let aaguidBytes = reader.readSpan(byteCount: Bytes16.byteCount),
            let aaguid = Bytes16(aaguidBytes)
        else { throw .truncated(.aaguid) }
        guard let idByteCount = reader.readInteger(byteCount: 2),
            let id = reader.readSpan(byteCount: Int(idByteCount))
        else { throw .truncated(.credentialID) }
        guard !reader.isAtEnd else { throw .truncated(.publicKey) }
        let keyStart = reader.offset
        let rest = bytes.extracting(keyStart..<bytes.count)
        let keyByteCount: Int
        do {
            keyByteCount = try rest.cborItemByteCount(limits: Self.limits)
        } catch {
            throw error.reason == .truncated ? .truncated(.publicKey) : .cbor(error)
        }
        credential = AttestedCredential(
            aaguid: aaguid, id: id.array,
            publicKey: try COSEKey.parse(rest.extracting(0..<keyByteCount)))
        extensions = try ExtensionData(trailing: bytes, from: keyStart + keyByteCount)
    }

    private static func header(
        of bytes: Span<UInt8>
    ) throws(Malformation) -> (Bytes32, UInt8, UInt32) {
        guard bytes.count <= byteCountMax else {
            throw .authenticatorDataTooLong(byteCount: bytes.count)
        }
        guard bytes.count >= headerByteCount, let rpIDHash = Bytes32(bytes.extracting(0..<32))
        else { throw .truncated(.header) }
        var counter: UInt32 = 0
        for index in 33..<37 { counter = counter << 8 | UInt32(bytes[index]) }
        return (rpIDHash, bytes[32], counter)
    }
}

/// The key that an attestation vouches for.
public struct AttestedCredential: Hashable, Sendable {
    /// The service of Apple that made the attestation; see ``AttestEnvironment``.
    public let aaguid: Bytes16
    /// The key id again, as the authenticator writes it.
    public let id: [UInt8]
    /// The key again, in COSE form on the wire.
    public let publicKey: P256PublicKey
}
