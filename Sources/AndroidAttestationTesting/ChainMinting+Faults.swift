import AttestationTesting
import Crypto
import DER

/// The faults of chains.
extension ChainMinting {
    /// Changes what is to be signed.
    func damage(_ drafts: inout [Draft]) throws(SimulationError) {
        switch fault {
        case .issuerOfVersion1: drafts[1].writer.version = 0
        case .negativeSerial: drafts[1].writer.serial = [0x80, 0x01]
        case .serialTooLong: drafts[1].writer.serial = [UInt8](repeating: 0x11, count: 21)
        case .algorithmsDiffer: drafts[0].writer.hasOtherInnerAlgorithm = true
        case .duplicateExtension:
            drafts[0].writer.extensions += drafts[0].writer.extensions.prefix(1)
        case .unknownCriticalExtension:
            drafts[1].writer.extensions.append(
                .init(oid: TestIdentifiers.knox, criticality: .critical, value: [0x30, 0]))
        case .leafTooLong, .attestationCertificateTooLong:
            let index = fault == .leafTooLong ? 0 : 1
            let filler = [UInt8](repeating: 0, count: 4096)
            drafts[index].writer.extensions.append(
                .init(oid: TestIdentifiers.knox, value: filler))
        default: try damageIssuing(&drafts)
        }
    }

    /// Changes names, times, keys and algorithms.
    private func damageIssuing(_ drafts: inout [Draft]) throws(SimulationError) {
        switch fault {
        case .issuerTimeMalformed: drafts[1].writer.notAfter = drafts[1].writer.notBefore - 1
        case .issuerNotYetValid, .remoteIssuerNotYetValid:
            drafts[1].writer.notBefore = seconds + Self.day
        case .remoteIssuerExpired: drafts[1].writer.notAfter = seconds - Self.day
        case .remoteServerExpired: drafts[2].writer.notAfter = seconds - Self.day
        case .leafNamesOtherIssuer: drafts[0].writer.issuer = SimulatedGoogle.rootName
        case .issuerNamesOtherIssuer: drafts[1].writer.issuer = drafts[0].writer.subject
        case .issuerKeyOfRSA1024:
            drafts[1].writer.keyInfo = Self.rsaKeyInfo(byteCount: 128)
            drafts[0].writer.signing = .other(
                algorithm: DERWriter.sequence([
                    DERWriter.objectIdentifier(TestIdentifiers.sha256WithRSA), DERWriter.null,
                ]), signature: [UInt8](repeating: 0x42, count: 128))
        case .issuerKeyOnP256Compressed: drafts[1].writer.keyInfo = try compressedKeyInfo()
        case .leafSignedWithSHA1: drafts[0].writer.signing = .ecdsa(.sha1)
        default: break
        }
    }

    /// Changes what was signed.
    func damaged(_ chain: [[UInt8]]) -> [[UInt8]] {
        var chain = chain
        switch fault {
        case .chainEmpty: return []
        case .chainTooShort: return [chain[0], chain[chain.count - 1]]
        case .chainTooLong:
            while chain.count < 7 { chain.append(google.rootDER) }
        case .leafIsGarbage: chain[0] = [0x30, 0x03, 0x02, 0x01, 0x01]
        case .byteAfterLeaf: chain[0].append(0)
        case .rootMissing:
            chain.removeLast()
            if chain.count < 3 { chain.append(chain[chain.count - 1]) }
        case .issuersSwapped: chain.swapAt(1, 2)
        case .leafSignatureDamaged: chain[0][chain[0].count - 1] ^= 1
        default: break
        }
        return chain
    }

    /// A key with an odd modulus that no one has the factors of.
    private static func rsaKeyInfo(byteCount: Int) -> [UInt8] {
        let modulus = [0xC1] + RandomBytes.bytes(byteCount - 2) + [0x0B]
        let key = DERWriter.sequence([
            DERWriter.element(0x02, [0] + modulus), DERWriter.integer(65_537),
        ])
        return DERWriter.sequence([
            DERWriter.sequence([
                DERWriter.objectIdentifier(TestIdentifiers.rsaEncryption), DERWriter.null,
            ]), DERWriter.bitString(key),
        ])
    }

    /// The attestation key as a point of one coordinate, which no chain has.
    private func compressedKeyInfo() throws(SimulationError) -> [UInt8] {
        let key = google.attestationKeys[0]
        let whole = try SimulatedGoogle.keyInfo(.ec(key))
        // The last 66 bytes are the unused bits and the point.
        let x = whole.suffix(64).prefix(32)
        let sign: UInt8 = whole[whole.count - 1] & 1 == 0 ? 0x02 : 0x03
        let algorithm = Array(whole[2..<whole.count - 68])
        return DERWriter.sequence([algorithm, DERWriter.bitString([sign] + x)])
    }
}
