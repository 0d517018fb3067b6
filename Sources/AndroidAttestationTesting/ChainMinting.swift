import AndroidAttestation
import AttestationTesting
import Bytes
import CBOR
import Crypto
import DER

/// Makes the chain of one attestation.
struct ChainMinting {
    static let day = SimulatedGoogle.day

    let phone: SimulatedPhone
    let google: SimulatedGoogle
    let challenge: [UInt8]
    let seconds: Int64
    let leafKey: SubjectKey
    let fault: AndroidFault?
    private let profile: PhoneProfile

    init(
        phone: SimulatedPhone, google: SimulatedGoogle, challenge: [UInt8], seconds: Int64,
        leafKey: SubjectKey, fault: AndroidFault?
    ) {
        self.phone = phone
        self.google = google
        self.challenge = challenge
        self.seconds = seconds
        self.leafKey = leafKey
        self.fault = fault
        var profile = phone.profile
        // Some faults are of remotely provisioned chains only.
        switch fault {
        case .remoteIssuerExpired, .remoteServerExpired, .remoteIssuerNotYetValid,
            .provisioningMalformed, .leafBelowVirtualMachine, .leafBelowVirtualMachineOfServer:
            profile.provisioning = .remote
            profile.quirks.remove(.noProvisioningInfo)
        case .issuerNotYetValid: profile.provisioning = .factory
        case .strongBoxByClaim: profile.securityLevel = .trustedEnvironment
        case .bootHashMissing: profile.attestationVersion = max(3, profile.attestationVersion)
        default: break
        }
        self.profile = profile
    }

    /// A certificate that is to be signed, and the key of its subject.
    struct Draft {
        var writer: CertificateWriter
        let key: ECPrivateKey
    }

    /// The certificates in DER, leaf first.
    mutating func chain() throws(SimulationError) -> [[UInt8]] {
        if fault == .otherRoot {
            let other = try SimulatedGoogle(around: seconds)
            var minting = ChainMinting(
                phone: phone, google: other, challenge: challenge, seconds: seconds,
                leafKey: leafKey, fault: nil)
            return try minting.chain()
        }
        var drafts = try issuers()
        drafts.insert(Draft(writer: try leaf(drafts[0]), key: phone.key.key), at: 0)
        if fault == .leafBelowGenuineLeaf { try addForgery(&drafts) }
        try damage(&drafts)
        var chain: [[UInt8]] = []
        for (index, draft) in drafts.enumerated() {
            let issuer = index + 1 < drafts.count ? drafts[index + 1].key : google.rootKey
            chain.append(try draft.writer.der(signedBy: try signer(index, issuer)))
        }
        if fault == .extensionInRoot {
            chain.append(try rootWithDescription())
        } else {
            chain.append(google.rootDER)
        }
        return damaged(chain)
    }

    private func signer(
        _ index: Int, _ issuer: ECPrivateKey
    ) throws(SimulationError) -> ECPrivateKey {
        switch (fault, index) {
        case (.leafSignedByOther, 0), (.issuerSignedByOther, 1): try SimulatedGoogle.key(.p256)
        case (.leafSelfSigned, 0): phone.key.key
        default: issuer
        }
    }

    // MARK: drafts

    private func leaf(_ issuer: Draft) throws(SimulationError) -> CertificateWriter {
        let quirks = profile.quirks
        let description = KeyDescriptionWriter(
            profile: profile, challenge: challenge, fault: fault, seconds: seconds)
        var extensions = [
            CertificateWriter.Extension(
                oid: TestIdentifiers.keyUsage,
                criticality: quirks.contains(.criticalAsOne) ? .criticalAsOne : .critical,
                value: [0x03, 0x02, 0x07, 0x80])
        ]
        if fault != .extensionMissing {
            extensions.append(
                .init(oid: TestIdentifiers.keyDescription, value: description.value))
        }
        if quirks.contains(.unreadableDistributionPoint) {
            extensions.append(.init(oid: TestIdentifiers.distributionPoints, value: [0]))
        }
        if quirks.contains(.knoxExtension) {
            extensions.append(.init(oid: TestIdentifiers.knox, value: [0x30, 0]))
        }
        let key: SubjectKey =
            switch fault {
            case .otherLeafKey: .ec(try SimulatedGoogle.key(.p256))
            case .leafOnP384: .ec(try SimulatedGoogle.key(.p384))
            default: leafKey
            }
        return CertificateWriter(
            serial: [1], issuer: issuer.writer.subject,
            subject: CertificateWriter.name([
                (TestIdentifiers.commonName, "Android Keystore Key")
            ]), notBefore: 0, notAfter: quirks.contains(.leafEndsIn1969) ? -1 : 2_461_449_600,
            isTimeGeneralized: quirks.contains(.generalizedTimes),
            keyInfo: try SimulatedGoogle.keyInfo(key), extensions: extensions,
            signing: .ecdsa(
                quirks.contains(.sha384OnP256) ? .sha384 : .sha256,
                hasNullParameters: quirks.contains(.nullParameters)))
    }

    /// The certificates between leaf and root, the attestation certificate first.
    private func issuers() throws(SimulationError) -> [Draft] {
        let isRemote = profile.provisioning == .remote
        let place = profile.securityLevel == .strongBox ? 1 : 0
        let intermediate = Draft(
            writer: try issuer(
                SimulatedGoogle.intermediateName(profile), google.intermediateKey,
                below: SimulatedGoogle.rootName, days: (730, 2922), .ecdsa(.sha384)),
            key: google.intermediateKey)
        var drafts = [intermediate]
        if isRemote {
            drafts.insert(
                Draft(
                    writer: try issuer(
                        SimulatedGoogle.serverName, google.serverKey,
                        below: intermediate.writer.subject, days: (20, 40), .ecdsa(.sha256)),
                    key: google.serverKey), at: 0)
        }
        var attestation = try issuer(
            attestationName, google.attestationKeys[place],
            below: drafts[0].writer.subject, days: isRemote ? (3, 20) : (730, 2922),
            .ecdsa(.sha256))
        attestation.serial = google.attestationSerials[place]
        if isRemote, !profile.quirks.contains(.noProvisioningInfo) {
            attestation.extensions.append(
                .init(oid: TestIdentifiers.provisioningInfo, value: provisioningInfo))
        }
        drafts.insert(Draft(writer: attestation, key: google.attestationKeys[place]), at: 0)
        switch fault {
        case .leafBelowOwnAuthority:
            try insertIssuer(TestIdentifiers.organization, "StrongBox", &drafts)
        case .leafBelowVirtualMachine:
            try insertIssuer(TestIdentifiers.commonName, "Virtual Machine Key", &drafts)
        default: break
        }
        return drafts
    }

    /// Puts a key that the phone was not given between the leaf and the attestation certificate.
    private func insertIssuer(
        _ type: [UInt8], _ name: String, _ drafts: inout [Draft]
    ) throws(SimulationError) {
        let key = try SimulatedGoogle.key(.p256)
        let writer = try issuer(
            CertificateWriter.name([(type, name)]), key, below: drafts[0].writer.subject,
            days: (1, 20), .ecdsa(.sha256))
        drafts.insert(Draft(writer: writer, key: key), at: 0)
    }

    private var attestationName: [UInt8] {
        switch fault {
        case .leafBelowVirtualMachine, .leafBelowVirtualMachineOfServer:
            CertificateWriter.name([(TestIdentifiers.organization, "AVF")])
        default: SimulatedGoogle.attestationName(profile)
        }
    }

    /// An issuer that is valid from some days before `seconds` to some days after.
    private func issuer(
        _ name: [UInt8], _ key: ECPrivateKey, below parent: [UInt8],
        days: (before: Int64, after: Int64), _ signing: CertificateWriter.Signing
    ) throws(SimulationError) -> CertificateWriter {
        let isExpired =
            profile.quirks.contains(.issuersExpired) && profile.provisioning == .factory
        let moved = isExpired ? (days.after + 900) * Self.day : 0
        return CertificateWriter(
            serial: SimulatedGoogle.serial(), issuer: parent, subject: name,
            notBefore: max(0, seconds - days.before * Self.day - moved),
            notAfter: seconds + days.after * Self.day - moved,
            keyInfo: try SimulatedGoogle.keyInfo(.ec(key)),
            extensions: SimulatedGoogle.issuerExtensions(
                isCA: !profile.quirks.contains(.issuersAreNoCA)),
            signing: signing)
    }

    private var provisioningInfo: [UInt8] {
        if fault == .provisioningMalformed { return [0xA1, 0x01] }
        return CBORValue.map([
            .init(.unsigned(1), .unsigned(profile.certificatesIssued)),
            .init(.unsigned(3), .text("simulated")),
        ]).encoded
    }

    /// Puts a leaf of the phone's owner below the genuine one, which becomes an issuer.
    private func addForgery(_ drafts: inout [Draft]) throws(SimulationError) {
        var forgery = drafts[0].writer
        forgery.issuer = forgery.subject
        forgery.keyInfo = try SimulatedGoogle.keyInfo(leafKey)
        drafts.insert(Draft(writer: forgery, key: phone.key.key), at: 0)
        // The leaf's invented times do not count for what pretends to be an issuer.
        drafts[1].writer.notBefore = seconds - Self.day
        drafts[1].writer.notAfter = seconds + Self.day
    }

    private func rootWithDescription() throws(SimulationError) -> [UInt8] {
        let root = CertificateWriter(
            serial: SimulatedGoogle.serial(), issuer: SimulatedGoogle.rootName,
            subject: SimulatedGoogle.rootName, notBefore: seconds, notAfter: seconds + Self.day,
            keyInfo: try SimulatedGoogle.keyInfo(.ec(google.rootKey)),
            extensions: [.init(oid: TestIdentifiers.keyDescription, value: [0x30, 0])],
            signing: .ecdsa(.sha384))
        return try root.der(signedBy: google.rootKey)
    }
}
