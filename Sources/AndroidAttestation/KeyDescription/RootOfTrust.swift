import Bytes
import DER

/// The state in which the phone booted, by its boot loader.
public struct RootOfTrust: Hashable, Sendable {
    public enum BootState: Int64, Hashable, Sendable, CaseIterable {
        /// The system is signed by the maker of the phone.
        case verified = 0
        /// The system is signed by a key that the owner has installed.
        case selfSigned = 1
        /// The system was not verified, because the boot loader is unlocked.
        case unverified = 2
        /// The verification failed.
        case failed = 3

        /// The word in configurations, logs and answers.
        public var name: String {
            switch self {
            case .verified: "verified"
            case .selfSigned: "self_signed"
            case .unverified: "unverified"
            case .failed: "failed"
            }
        }
    }

    /// The key that verified the system, or its SHA-256.
    public let verifiedBootKey: [UInt8]
    /// True if the boot loader installs no other system.
    public let isDeviceLocked: Bool
    public let bootState: BootState
    /// The digest of all that was verified; nil before attestation version 3.
    public let verifiedBootHash: [UInt8]?

    /// The first attestation version with a `verifiedBootHash`.
    private static let hashVersionMin: Int64 = 3

    /// Reads the element that `reader` is at, which must be the last.
    init?(_ reader: inout DERReader, attestationVersion: Int64) {
        guard let content = reader.read(.sequence) else { return nil }
        var fields = DERReader(content)
        guard let key = fields.read(.octetString)?.array, let isLocked = fields.readBoolean(),
            let state = fields.readEnumerated().flatMap(BootState.init(rawValue:))
        else { return nil }
        verifiedBootKey = key
        isDeviceLocked = isLocked
        bootState = state
        if fields.isAtEnd, attestationVersion < Self.hashVersionMin {
            verifiedBootHash = nil
        } else {
            guard let hash = fields.read(.octetString)?.array, fields.isAtEnd else { return nil }
            verifiedBootHash = hash
        }
    }
}
