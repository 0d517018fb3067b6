import Bytes
import DER

/// The extension 1.3.6.1.4.1.11129.2.1.17 of a leaf: what its key is, which app made it, and in
/// which state the phone was when it booted.
///
/// Android documents it under "Verify hardware-backed key pairs with key attestation". The reading
/// is strict DER except for what real keystores write: sets in any order, and a TRUE of 0x01. The
/// unique id, which names the device, is not kept.
public struct KeyDescription: Hashable, Sendable {
    /// The version: 1 to 4 of Keymaster, 100 to 500 of KeyMint.
    public let attestationVersion: Int64
    /// The place that has made this description.
    public let attestationSecurityLevel: AndroidSecurityLevel
    public let keyMintVersion: Int64
    /// The place that keeps the key.
    public let keyMintSecurityLevel: AndroidSecurityLevel
    /// The challenge that the app passed.
    public let attestationChallenge: [UInt8]
    /// The authorizations that the phone's system enforces.
    public let softwareEnforced: AuthorizationList
    /// The authorizations that ``keyMintSecurityLevel`` enforces.
    public let hardwareEnforced: AuthorizationList

    /// Parses the content of the extension. Throws also if the tags of a list do not ascend.
    public init(parsing value: Span<UInt8>) throws(KeyDescriptionMalformation) {
        try self.init(inAnyOrder: value)
        guard hasAscendingTags else { throw .tagOrder }
    }

    /// Parses the content of the extension, whose lists may have their tags in any order.
    package init(inAnyOrder value: Span<UInt8>) throws(KeyDescriptionMalformation) {
        var outer = DERReader(value)
        guard let sequence = outer.read(.sequence) else { throw .part("the sequence") }
        guard outer.isAtEnd else { throw .trailingBytes }
        var fields = DERReader(sequence)
        guard let version = fields.readInteger(), version > 0 else {
            throw .part("attestationVersion")
        }
        guard let level = fields.readEnumerated().flatMap(AndroidSecurityLevel.init(rawValue:))
        else { throw .part("attestationSecurityLevel") }
        guard let keyMintVersion = fields.readInteger(), keyMintVersion >= 0 else {
            throw .part("keyMintVersion")
        }
        guard
            let keyMintLevel = fields.readEnumerated().flatMap(AndroidSecurityLevel.init(rawValue:))
        else { throw .part("keyMintSecurityLevel") }
        guard let challenge = fields.read(.octetString)?.array else {
            throw .part("attestationChallenge")
        }
        guard fields.read(.octetString) != nil else { throw .part("uniqueId") }
        guard let software = fields.read(.sequence) else { throw .part("softwareEnforced") }
        guard let hardware = fields.read(.sequence) else { throw .part("hardwareEnforced") }
        guard fields.isAtEnd else { throw .trailingBytes }
        attestationVersion = version
        attestationSecurityLevel = level
        self.keyMintVersion = keyMintVersion
        keyMintSecurityLevel = keyMintLevel
        attestationChallenge = challenge
        softwareEnforced = try AuthorizationList(software, attestationVersion: version)
        hardwareEnforced = try AuthorizationList(hardware, attestationVersion: version)
    }

    /// True if the tags of both lists ascend.
    package var hasAscendingTags: Bool {
        softwareEnforced.isAscending && hardwareEnforced.isAscending
    }

    /// The authorizations that count for the key: those of the secure hardware, or of the system if
    /// that keeps the key.
    package var enforced: AuthorizationList {
        keyMintSecurityLevel == .software ? softwareEnforced : hardwareEnforced
    }
}
