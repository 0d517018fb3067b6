import Bytes
public import CBOR

/// The way by which a phone got the key that vouches for others.
public enum AndroidProvisioning: Hashable, Sendable {
    /// The maker put it into a batch of up to 100,000 phones.
    case factory
    /// Google's server certified it for this phone, for some days. The number of certificates
    /// issued to the phone in 30 days is nil if the server did not state it, as it did not until
    /// 2023.
    case remote(certificatesIssued: UInt64?)

    /// The word for logs and answers: `factory` or `remote`.
    public var name: String {
        switch self {
        case .factory: "factory"
        case .remote: "remote"
        }
    }

    /// The number of certificates issued to this phone in 30 days; nil if it is not known.
    public var certificatesIssued: UInt64? {
        guard case .remote(let count) = self else { return nil }
        return count
    }

    /// The organisation that Google's servers name as their own.
    private static let server = "Google LLC"
    /// The organisations that they name in the certificates of phones' keys.
    private static let remoteOrganizations: Set<String> = ["TEE", strongBox]
    private static let strongBox = "StrongBox"

    /// Tells the kind by the extension of the attestation certificate or, for servers that wrote
    /// none yet, by the organisation of its subject. Either counts, because the rules of remote
    /// certificates are the stricter ones.
    ///
    /// A phone's key is certified by the maker's certificate below the root, or by a server of
    /// Google's; it must have signed the leaf itself. The same servers certify keys that their
    /// owner may read, such as those of a phone's virtual machines, and the thief of a phone's key
    /// can certify others with it. They vouch for nothing.
    init(of chain: AndroidChain) throws(AndroidAttestationFailure) {
        var index = max(chain.certificates.count - 3, 1)
        let top = index
        while index > 1, chain.certificates[index].organizations.contains(Self.server) {
            index -= 1
        }
        let isNamed = chain.attestation.organizations.contains {
            Self.remoteOrganizations.contains($0)
        }
        guard index == 1, isNamed || index == top else { throw .attestationCertificate }
        var info: ProvisioningInfo?
        if let value = chain.attestation.extensionValue(ObjectIdentifiers.provisioningInfo) {
            do {
                info = try ProvisioningInfo(parsing: value.span)
            } catch {
                throw .certificateMalformed(index: 1, .provisioningInfo)
            }
        }
        self =
            isNamed || info != nil
            ? .remote(certificatesIssued: info?.certificatesIssued) : .factory
    }

    /// True if the chain says that the key that vouches is in a StrongBox: by the organisation of
    /// the attestation certificate, or in factory chains by any attribute of the issuers' names.
    func isStrongBox(_ chain: AndroidChain) -> Bool {
        switch self {
        case .remote:
            chain.attestation.organizations.contains(Self.strongBox)
        case .factory:
            chain.intermediates.contains { index in
                chain.certificates[index].subject.values().contains(Self.strongBox)
            }
        }
    }
}

/// The extension 1.3.6.1.4.1.11129.2.1.30 of remotely provisioned certificates: CBOR
/// `{1: number of certificates issued to this device in 30 days, 3: manufacturer, ...}`.
public struct ProvisioningInfo: Hashable, Sendable {
    /// The number of certificates issued to this device in 30 days; nil if the map lacks it.
    public let certificatesIssued: UInt64?

    private static let limits = CBORLimits(byteCountMax: 1024, depthMax: 4)
    private static let certificatesIssuedKey: Int64 = 1

    /// Reads the map. Other members than the first are skipped.
    public init(parsing value: Span<UInt8>) throws(CBORError) {
        var reader = try CBORReader(value, limits: Self.limits)
        var certificatesIssued: UInt64?
        for _ in 0..<(try reader.readMapCount()) {
            let kind = try reader.peekKind()
            guard kind == .unsigned || kind == .negative else {
                try reader.readItem()
                try reader.readItem()
                continue
            }
            if try reader.readInteger() == Self.certificatesIssuedKey {
                certificatesIssued = try reader.readUnsigned()
            } else {
                try reader.readItem()
            }
        }
        self.certificatesIssued = certificatesIssued
    }
}

extension AndroidCertificate {
    fileprivate var organizations: [String] { subject.values(ObjectIdentifiers.organizationName) }
}
