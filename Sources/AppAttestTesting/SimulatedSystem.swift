import Attestation
public import Bytes
import CBOR
import Crypto
import DER

/// The operating systems whose objects differ in form.
public enum SimulatedSystem: String, Sendable, CaseIterable {
    /// A system that sends nothing beyond the needs of the nine checks.
    case iOS14
    /// A system with the CDhash entitlement: an unsigned top-level `cdHash` beside the three
    /// members.
    case iOS18CDHash
    /// A system with the leaf extension 1.2.840.113635.100.8.6 and the extended key usage.
    case iOS26
    /// A system with an extension map and the ED flag set.
    case iOS27
    /// A system with an extension map and the ED flag clear, as in Apple's published sample.
    case iOS27FlagClear
    /// A system with an extension map that has the category as an integer, as Apple documents it,
    /// and unknown members.
    case iOS27Integer
    /// A Mac with an extension map, the ED flag clear, and a Mac's access control list.
    case macOS27

    /// The extension map that the system writes after the fixed part of authenticator data, or
    /// nothing.
    func extensionMap(bundleVersion: String, category: UInt32) -> [UInt8] {
        let littleEndian = (0..<4).map { UInt8(truncatingIfNeeded: category >> (8 * $0)) }
        var entries = [
            CBORValue.Entry(.text("apple_bundle_version_01"), .text(bundleVersion)),
            CBORValue.Entry(.text("apple_validation_category_01"), .bytes(littleEndian)),
        ]
        switch self {
        case .iOS14, .iOS18CDHash, .iOS26: return []
        case .iOS27, .iOS27FlagClear, .macOS27: break
        case .iOS27Integer:
            entries[1].value = .unsigned(UInt64(category))
            entries.append(
                CBORValue.Entry(
                    .text("apple_cd_hash_hash_01"), .bytes([UInt8](repeating: 0xCD, count: 32))))
            entries.append(CBORValue.Entry(.text("apple_cd_hash_type_01"), .unsigned(2)))
        }
        return CBORValue.map(entries).encoded
    }

    /// The flags: AT always, in assertions too; ED if this system sets it.
    var flags: UInt8 { self == .iOS27 || self == .iOS27Integer ? 0xC0 : 0x40 }

    /// The version, build and platform in the leaf; empty from the oldest systems.
    private var version: (version: String, build: String, platform: String) {
        switch self {
        case .iOS14: ("14.4", "", "")
        case .iOS18CDHash: ("18.5", "22F76", "iphoneos")
        case .iOS26: ("26.3", "23D60", "iphoneos")
        case .iOS27, .iOS27FlagClear, .iOS27Integer: ("27.0", "24A325", "iphoneos")
        case .macOS27: ("27.0", "26A300", "macosx")
        }
    }

    /// The extensions of this system's leaf certificates, besides the nonce.
    func leafExtensions(appID: String) -> [CertificateExtension] {
        var extensions = [
            CertificateExtension(
                oid: "2.5.29.15", isCritical: true, value: [0x03, 0x02, 0x04, 0xF0])
        ]
        let hasAccessControl = self != .iOS14 && self != .iOS18CDHash
        if hasAccessControl {
            let usage: [UInt8] = [
                0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x04, 0x18,
            ]
            extensions.append(
                CertificateExtension(oid: "2.5.29.37", value: DERWriter.sequence([usage])))
        }
        let appInformation = DERWriter.sequence([
            DERWriter.context(4, DERWriter.integer(10)),
            DERWriter.context(1204, DERWriter.octetString(Array(appID.utf8))),
            DERWriter.context(1206, DERWriter.integer(5)),
        ])
        extensions.append(
            CertificateExtension(oid: "1.2.840.113635.100.8.5", value: appInformation))
        extensions.append(CertificateExtension(oid: "1.2.840.113635.100.8.7", value: versions))
        if hasAccessControl {
            let list = DERWriter.sequence([
                DERWriter.context(3, DERWriter.octetString(accessControl))
            ])
            extensions.append(CertificateExtension(oid: "1.2.840.113635.100.8.6", value: list))
        }
        return extensions
    }

    private var versions: [UInt8] {
        let (version, build, platform) = version
        func text(_ tag: Int, _ text: String) -> [UInt8] {
            text.isEmpty ? [] : DERWriter.context(tag, DERWriter.octetString(Array(text.utf8)))
        }
        return DERWriter.sequence([text(1400, version), text(1403, build), text(1026, platform)])
    }

    /// SHA-256 of the list, which a test can trust in place of a real Mac's.
    public var accessControlDigest: Bytes32 { SHA256.hash(accessControl) }

    /// A list of permitted operations in the form of phones. The list of a real Mac has other
    /// bytes, which only a Mac makes.
    var accessControl: [UInt8] {
        let permitted = DERWriter.context(1, [0x01, 0x01, 0xFF])
        let operations = self == .macOS27 ? ["oa", "osgn"] : ["okd", "oa", "osgn", "odel", "ock"]
        let entries = operations.map {
            DERWriter.sequence([DERWriter.element(0x0C, Array($0.utf8)), permitted])
        }
        return DERWriter.sequence([
            DERWriter.element(0x0C, Array("11".utf8)), DERWriter.sequence(entries),
        ])
    }
}
