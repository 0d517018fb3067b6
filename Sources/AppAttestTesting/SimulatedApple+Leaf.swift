import Attestation
import AttestationTesting
import Bytes
import Crypto
import DER

/// The request by which a device asks Apple for a certificate.
struct LeafRequest {
    let keyID: KeyID
    let key: SubjectKey
    /// The moment of certification: the leaf is valid from one day before to two days after it.
    let seconds: Int64
    let nonce: [UInt8]
    let extensions: [CertificateExtension]
}

extension SimulatedApple {
    /// The `x5c` of an attestation, leaf first.
    func certify(
        _ request: LeafRequest, _ fault: AttestationFault?
    ) throws(SimulationError) -> [[UInt8]] {
        let issuer = try issuer(for: fault, at: request.seconds)
        let leaf = try leaf(request, issuer, fault)
        let chain = [leaf] + issuer.chain.map(\.der)
        switch fault {
        case .leafIsGarbage: return [[0x30, 0x03, 0x02, 0x01, 0x01]] + chain.dropFirst()
        case .byteAfterLeaf: return [leaf + [0]] + chain.dropFirst()
        case .intermediateMissing: return [leaf]
        case .chainEmpty: return []
        case .chainTooLong: return chain + [root.der, root.der, root.der]
        default: return chain
        }
    }

    /// The issuer of a leaf, with its certificates.
    private struct Issuer {
        let key: ECPrivateKey
        let certificate: Certificate
        let chain: [Certificate]
    }

    private func issuer(
        for fault: AttestationFault?, at seconds: Int64
    ) throws(SimulationError) -> Issuer {
        switch fault {
        case .otherRoot:
            let other = try SimulatedApple(around: seconds)
            return Issuer(
                key: other.intermediateKey, certificate: other.intermediate,
                chain: [other.intermediate])
        case .issuerByNameOnly:
            let stranger = try SimulationError.wrap { () throws(CryptoError) in
                try ECPrivateKey.generate(.p384)
            }
            return Issuer(key: stranger, certificate: intermediate, chain: [intermediate])
        case .expiredIntermediate:
            return try reissuedIntermediate(
                at: seconds - 1827 * Self.day,
                extensions: [.basicConstraints(isCA: true, pathLength: 0), .certificateSigning])
        case .intermediateNotCA:
            return try reissuedIntermediate(
                at: seconds, extensions: [.basicConstraints(isCA: false)])
        case .pathTooLong:
            let name: DistinguishedName = ["CN": "Simulated App Attestation CA 1 A"]
            let key = try SimulationError.wrap { () throws(CryptoError) in
                try ECPrivateKey.generate(.p384)
            }
            let below = try Self.intermediate(
                name, key, issuer: intermediate, intermediateKey, seconds)
            return Issuer(key: key, certificate: below, chain: [below, intermediate])
        default:
            return Issuer(
                key: intermediateKey, certificate: intermediate, chain: [intermediate])
        }
    }

    /// The intermediate again with its own key and name, but other extensions. It is valid for ten
    /// years around `seconds`.
    private func reissuedIntermediate(
        at seconds: Int64, extensions: [CertificateExtension]
    ) throws(SimulationError) -> Issuer {
        let certificate = try SimulationError.wrap { () throws(CryptoError) in
            try CertificateBuilder(
                subject: Self.intermediateName, key: .ec(intermediateKey),
                notBefore: max(0, seconds - 1826 * Self.day), notAfter: seconds + 1826 * Self.day,
                extensions: extensions
            ).certificate(issuer: .certificate(root), signingKey: rootKey, digest: .sha384)
        }
        return Issuer(key: intermediateKey, certificate: certificate, chain: [certificate])
    }

    private func leaf(
        _ request: LeafRequest, _ issuer: Issuer, _ fault: AttestationFault?
    ) throws(SimulationError) -> [UInt8] {
        // Beyond the clock skew that a verifier may allow.
        let shift =
            switch fault {
            case .expiredLeaf: -4 * Self.day
            case .leafNotYetValid: 4 * Self.day
            default: Int64(0)
            }
        let named = fault == .leafNameOther ? SHA256.hash([0]) : request.keyID.digest
        let name: DistinguishedName = [
            "CN": Hex.encode(named.array), "OU": "AAA Certification",
            "O": "Simulated", "ST": "California",
        ]
        return try SimulationError.wrap { () throws(CryptoError) in
            let subjectKey: SubjectKey =
                fault == .leafOnP384 ? .ec(try ECPrivateKey.generate(.p384)) : request.key
            let builder = CertificateBuilder(
                subject: name, key: subjectKey, notBefore: request.seconds - Self.day + shift,
                notAfter: request.seconds + 2 * Self.day + shift,
                extensions: Self.extensions(request, fault))
            if fault == .leafSelfSigned {
                let key = try P256PrivateKey.generate().key
                return try builder.der(issuer: .itself, signingKey: key)
            }
            return try builder.der(
                issuer: .certificate(issuer.certificate), signingKey: issuer.key,
                digest: fault == .leafSignedWithSHA1 ? .sha1 : .sha256)
        }
    }

    private static func extensions(
        _ request: LeafRequest, _ fault: AttestationFault?
    ) -> [CertificateExtension] {
        let nonce = nonceExtension(request.nonce, fault)
        guard fault == .leafIsCA else {
            let extensions = changed(request.extensions, fault)
            return [.basicConstraints(isCA: false)] + extensions + nonce
        }
        // A CA whose key usage does not allow it to sign certificates is no CA.
        let others = request.extensions.filter {
            $0.oid != CertificateExtension.certificateSigning.oid
        }
        return [.basicConstraints(isCA: true), .certificateSigning] + others + nonce
    }

    /// Has the leaf name another app or purpose, if `fault` asks for that.
    private static func changed(
        _ extensions: [CertificateExtension], _ fault: AttestationFault?
    ) -> [CertificateExtension] {
        let (oid, value): (String, [UInt8])
        switch fault {
        case .leafAppOther:
            let app = DERWriter.octetString(Array("ABCDE12345.com.example.none".utf8))
            (oid, value) = ("1.2.840.113635.100.8.5", DERWriter.context(1204, app))
        case .leafPurposeOther:
            // The purpose of TLS servers.
            (oid, value) = ("2.5.29.37", [6, 8, 0x2B, 6, 1, 5, 5, 7, 3, 1])
        default: return extensions
        }
        return extensions.filter { $0.oid != oid }
            + [CertificateExtension(oid: oid, value: DERWriter.sequence([value]))]
    }

    private static func nonceExtension(
        _ nonce: [UInt8], _ fault: AttestationFault?
    ) -> [CertificateExtension] {
        func tagged(_ number: Int, _ octets: [UInt8]) -> [UInt8] {
            DERWriter.context(number, DERWriter.octetString(octets))
        }
        let other = SHA256.hash(nonce).array
        let value: [UInt8]
        switch fault {
        case .nonceMissing: return []
        case .otherNonce: value = DERWriter.sequence([tagged(1, other)])
        case .nonceTooShort: value = DERWriter.sequence([tagged(1, Array(nonce.dropLast()))])
        case .nonceTrailingByte: value = DERWriter.sequence([tagged(1, nonce)]) + [0]
        case .nonceUnderOtherTag: value = DERWriter.sequence([tagged(2, nonce)])
        case .nonceAfterAnother:
            value = DERWriter.sequence([tagged(1, other), tagged(1, nonce)])
        default: value = DERWriter.sequence([tagged(1, nonce)])
        }
        return [CertificateExtension(oid: "1.2.840.113635.100.8.2", value: value)]
    }
}
