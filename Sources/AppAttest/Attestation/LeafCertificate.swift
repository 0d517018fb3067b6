package import Bytes
import Crypto
import DER

/// Reads Apple's own extensions from App Attest's leaf certificates.
package enum LeafCertificate {
    static let nonceOID = "1.2.840.113635.100.8.2"
    static let appInformationOID = "1.2.840.113635.100.8.5"
    static let accessControlOID = "1.2.840.113635.100.8.6"
    static let systemVersionOID = "1.2.840.113635.100.8.7"
    static let extendedKeyUsageOID = "2.5.29.37"
    /// The tag of the App ID in the extension of ``appInformationOID``.
    static let appIDTag: UInt32 = 1204
    /// The key purpose 1.2.840.113635.100.4.24, in the leaves of iOS 26.3 and later.
    private static let appAttestUsage: [UInt8] = [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x04, 0x18,
    ]

    /// True if an extended key usage (RFC 5280 section 4.2.1.12) names App Attest.
    static func isForAppAttest(_ extensionValue: [UInt8]) -> Bool {
        var outer = DERReader(extensionValue.span)
        guard let sequence = outer.read(.sequence), outer.isAtEnd else { return false }
        var purposes = DERReader(sequence)
        while !purposes.isAtEnd {
            guard let purpose = purposes.read(.objectIdentifier) else { return false }
            if purpose.array == appAttestUsage { return true }
        }
        return false
    }

    /// The 32 bytes in `SEQUENCE { [1] { OCTET STRING } }`; nil for anything but exactly that.
    static func nonce(in extensionValue: [UInt8]) -> Bytes32? {
        octets(in: extensionValue.span, tag: 1).flatMap { Bytes32($0) }
    }

    /// The access control list of the key, in `SEQUENCE { [3] { OCTET STRING } }`.
    static func accessControl(in extensionValue: [UInt8]) -> [UInt8]? {
        octets(in: extensionValue.span, tag: 3)
    }

    /// SHA-256 of the list that a Mac with System Integrity Protection and Full Security writes. A
    /// phone writes another list: never compare it there.
    package static let macFullSecurityDigest = Bytes32(
        word0: 0x4DE4_539B_20E1_D672, word1: 0xB3B4_5A6F_9C67_C48D, word2: 0xB560_C79A_556F_91B0,
        word3: 0xFB8C_96DD_32D0_B165)

    static func isMacWithFullSecurity(_ accessControl: [UInt8]) -> Bool {
        SHA256.hash(accessControl) == macFullSecurityDigest
    }

    /// The content of the octet string under context tag `tag`; nil if there is anything else.
    private static func octets(in extensionValue: Span<UInt8>, tag: UInt32) -> [UInt8]? {
        var outer = DERReader(extensionValue)
        guard let sequence = outer.read(.sequence), outer.isAtEnd else { return nil }
        var elements = DERReader(sequence)
        guard let tagged = elements.read(.context(tag)), elements.isAtEnd else { return nil }
        var inner = DERReader(tagged)
        guard let octets = inner.read(.octetString), inner.isAtEnd else { return nil }
        return octets.array
    }

    /// The text under context tag `tag` of a sequence of tagged octet strings; nil if absent.
    static func text(in extensionValue: [UInt8], tag: UInt32) -> String? {
        var outer = DERReader(extensionValue.span)
        guard let sequence = outer.read(.sequence) else { return nil }
        var elements = DERReader(sequence)
        while let element = elements.readElement() {
            guard element.tag == .context(tag) else { continue }
            var inner = DERReader(element.content)
            guard let octets = inner.read(.octetString),
                let text = try? UTF8Span(validating: octets)
            else { return nil }
            return String(copying: text)
        }
        return nil
    }
}

/// The operating system that the leaf names (extension 1.2.840.113635.100.8.7; empty on some).
public struct SystemVersion: Hashable, Sendable {
    /// The system's version, such as `27.0`.
    public let version: String?
    /// The system's build, such as `24A325b`.
    public let build: String?
    /// The system's platform, such as `iphoneos`.
    public let platform: String?

    init(extensionValue: [UInt8]) {
        version = LeafCertificate.text(in: extensionValue, tag: 1400)
        build = LeafCertificate.text(in: extensionValue, tag: 1403)
        platform = LeafCertificate.text(in: extensionValue, tag: 1026)
    }
}
