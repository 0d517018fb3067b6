package import Bytes
import Crypto

/// The security of a Mac, as an attestation states it.
///
/// Apple publishes no list of access controls. Two are known: that of a Mac with System Integrity
/// Protection and Full Security, and that of phones. So the list is compared only if the device may
/// be a Mac, and then anything but the first counts as reduced.
///
/// The leaf, which Apple signs, tells whether the device may be a Mac: by the operating system's
/// platform (extension 8.7), which phones name from iOS 18 on. Macs attest from macOS 27 on, and
/// every leaf of the year 2026 has the list (extension 8.6). So a leaf without platform and without
/// list is of a system before iOS 18, when no Mac could attest. A leaf of an unknown platform, or
/// without platform but with a list, may be a Mac's.
public enum MacSecurity: String, Sendable, CaseIterable {
    /// A phone, tablet, watch, television or headset.
    case notMac = "not_a_mac"
    case full
    /// A Mac with reduced security, or with a list that is not known.
    case reduced

    /// The name of the member of log lines that holds it.
    static let detailName = "mac_security"

    /// The platforms that are not Macs, as the leaf names them.
    private static let otherPlatforms: Set<String> = [
        "iphoneos", "appletvos", "watchos", "xros", "visionos",
    ]

    /// `full`: SHA-256 of the list of a Mac with Full Security.
    init(of leaf: Certificate, full: Bytes32 = LeafCertificate.macFullSecurityDigest) {
        let list = leaf.extensionValue(oid: LeafCertificate.accessControlOID)
        let system = SystemVersion(
            extensionValue: leaf.extensionValue(oid: LeafCertificate.systemVersionOID) ?? [])
        self.init(
            platform: system.platform, hasAccessControl: list != nil,
            digest: list.flatMap { LeafCertificate.accessControl(in: $0) }.map { SHA256.hash($0) },
            full: full)
    }

    /// `digest`: SHA-256 of the list, nil if there is none that can be read.
    package init(
        platform: String?, hasAccessControl: Bool, digest: Bytes32?,
        full: Bytes32 = LeafCertificate.macFullSecurityDigest
    ) {
        if platform.map(Self.otherPlatforms.contains) ?? !hasAccessControl {
            self = .notMac
        } else {
            self = digest == full ? .full : .reduced
        }
    }
}
