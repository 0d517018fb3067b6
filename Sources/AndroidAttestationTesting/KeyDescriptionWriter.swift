import AndroidAttestation
import Bytes
import DER

/// Writes the extension that describes a key, correctly or with one fault.
struct KeyDescriptionWriter {
    private typealias Authorization = (tag: Int, content: [UInt8])

    let profile: PhoneProfile
    let challenge: [UInt8]
    let fault: AndroidFault?
    /// Seconds since 1970, by the phone's clock.
    let seconds: Int64

    /// The first version in which the root of trust has a digest of all that was verified.
    private static let bootHashVersionMin: Int64 = 3

    var value: [UInt8] {
        if fault == .descriptionIsGarbage { return [0x04, 0x00] }
        let level = fault == .softwareKey ? .software : profile.securityLevel
        var fields = [
            DERWriter.integer(fault == .versionZero ? 0 : profile.attestationVersion),
            DERWriter.enumerated(fault == .securityLevelUnknown ? 3 : claimedLevel(level)),
            DERWriter.integer(profile.attestationVersion),
            DERWriter.enumerated(fault == .levelsDiffer ? 0 : claimedLevel(level)),
            DERWriter.octetString(attestedChallenge), DERWriter.octetString([]),
            list(software(level)), list(hardware(level)),
        ]
        if fault == .descriptionExtraElement { fields.append(DERWriter.null) }
        let value = DERWriter.sequence(fields)
        switch fault {
        case .descriptionTrailingByte: return value + [0]
        case .descriptionIndefinite:
            return [0x30, 0x80] + fields.flatMap { $0 } + [0, 0]
        case .descriptionLongLength:
            let content = fields.flatMap { $0 }
            return [0x30, 0x83, 0, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        default: return value
        }
    }

    private func claimedLevel(_ level: AndroidSecurityLevel) -> Int64 {
        fault == .strongBoxByClaim ? AndroidSecurityLevel.strongBox.rawValue : level.rawValue
    }

    private var attestedChallenge: [UInt8] {
        switch fault {
        case .otherChallenge: challenge.map { $0 ^ 1 }
        case .challengeEmpty: []
        case .challengeCutShort: Array(challenge.dropLast())
        default: challenge
        }
    }

    private func list(_ authorizations: [Authorization]) -> [UInt8] {
        var elements = authorizations.sorted { $0.tag < $1.tag }.map { authorization in
            DERWriter.context(authorization.tag, authorization.content)
        }
        switch fault {
        case .tagsDescend: elements.reverse()
        case .duplicateTag: elements = elements.flatMap { [$0, $0] }
        case .tagPrimitive: elements = elements.map { [$0[0] & ~0x20] + $0.dropFirst() }
        case .authorizationTrailingByte:
            elements = authorizations.sorted { $0.tag < $1.tag }.map {
                DERWriter.context($0.tag, $0.content + DERWriter.null)
            }
        default: break
        }
        return DERWriter.sequence(elements)
    }

    private static let imei = DERWriter.octetString(Array("1234".utf8))

    // MARK: what the system enforces

    private func software(_ level: AndroidSecurityLevel) -> [Authorization] {
        var list: [Authorization] = []
        if !profile.quirks.contains(.creationTimeInHardware) {
            list.append((701, DERWriter.integer(seconds * 1000)))
        }
        if fault != .applicationIDMissing, fault != .applicationIDInHardware {
            list.append((709, applicationID))
        }
        switch fault {
        case .allApplicationsInSoftware: list.append((600, DERWriter.null))
        case .rootOfTrustInSoftware: list.append((704, rootOfTrust))
        case .imeiInSoftware: list.append((714, Self.imei))
        case .originInSoftware: list.append((702, DERWriter.integer(0)))
        case .softwareKey: list += key + [(704, rootOfTrust)]
        default: break
        }
        if profile.attestationVersion >= 400 {
            list.append((724, DERWriter.octetString([UInt8](repeating: 7, count: 32))))
        }
        return list
    }

    private var applicationID: [UInt8] {
        var packages = fault == .otherPackage ? ["com.example.none"] : profile.packages
        if fault == .secondPackage { packages.append("com.example.none") }
        if fault == .packagesEmpty { packages = [] }
        let names = fault == .packageNotUTF8 ? [[0xFF, 0xFE]] : packages.map { Array($0.utf8) }
        var digests = profile.signingDigests.map(\.array)
        let other = [UInt8](repeating: 0xEE, count: 32)
        if fault == .otherSigner { digests = [other] }
        if fault == .secondSigner { digests.append(other) }
        if fault == .signingDigestShort { digests = digests.map { Array($0.dropLast()) } }
        let id = DERWriter.sequence([
            DERWriter.set(
                names.map {
                    DERWriter.sequence([
                        DERWriter.octetString($0), DERWriter.integer(profile.packageVersion),
                    ])
                }), DERWriter.set(digests.map(DERWriter.octetString)),
        ])
        return DERWriter.octetString(id)
    }

    // MARK: what the hardware enforces

    private func hardware(_ level: AndroidSecurityLevel) -> [Authorization] {
        var list = level == .software ? [] : key + [(704, rootOfTrust)]
        switch fault {
        case .rootOfTrustMissing, .rootOfTrustInSoftware: list.removeAll { $0.tag == 704 }
        case .allApplications: list.append((600, DERWriter.null))
        case .applicationIDInHardware: list.append((709, applicationID))
        case .serialNumberAttested: list.append((713, DERWriter.octetString(Array("S1".utf8))))
        case .imeiAttested: list.append((714, Self.imei))
        case .meidAttested: list.append((715, DERWriter.octetString(Array("A1".utf8))))
        case .secondIMEIAttested: list.append((723, DERWriter.octetString(Array("5678".utf8))))
        default: break
        }
        let quirks = profile.quirks
        let isZero = quirks.contains(.zeroVersions)
        list.append((705, DERWriter.integer(isZero ? 0 : profile.osVersion)))
        list.append((706, DERWriter.integer(isZero ? 0 : profile.osPatchLevel)))
        if profile.attestationVersion >= Self.bootHashVersionMin {
            let day: Int64 = quirks.contains(.shortVendorPatchLevel) ? 1 : 100
            list.append((718, DERWriter.integer(isZero ? 0 : profile.osPatchLevel * day)))
            list.append((719, DERWriter.integer(isZero ? 0 : profile.osPatchLevel * 100 + 1)))
        }
        if quirks.contains(.creationTimeInHardware) {
            list.append((701, DERWriter.integer(seconds * 1000)))
        }
        if quirks.contains(.deviceProperties) {
            for tag in [710, 711, 712, 716, 717] {
                list.append((tag, DERWriter.octetString(Array("simulated".utf8))))
            }
        }
        if quirks.contains(.unknownTag) { list.append((509, DERWriter.octetString([1, 2, 3]))) }
        return list
    }

    /// What the key is and may do.
    private var key: [Authorization] {
        var list: [Authorization] = [
            (2, DERWriter.integer(fault == .algorithmRSA ? 1 : 3)), (503, DERWriter.null),
        ]
        if fault != .purposeMissing { list.append((1, set(purposes))) }
        if fault != .digestMissing { list.append((5, set(digests))) }
        if !profile.quirks.contains(.noCurve) {
            list.append((3, DERWriter.integer(fault == .keySize384 ? 384 : 256)))
            list.append((10, DERWriter.integer(fault == .curveP384 ? 2 : 1)))
        }
        if fault != .originMissing, fault != .originInSoftware {
            list.append((702, DERWriter.integer(fault == .imported ? 2 : 0)))
        }
        return list
    }

    private var purposes: [Int64] {
        switch fault {
        case .purposeDecrypt: [1, 2]
        case .purposeAttestKey: [7]
        default: profile.quirks.contains(.signAndVerify) ? [2, 3] : profile.purposes
        }
    }

    private var digests: [Int64] {
        if fault == .digestNone { return [0] }
        return profile.quirks.contains(.unsortedSets) ? [4, 0] : profile.digests
    }

    private func set(_ numbers: [Int64]) -> [UInt8] {
        DERWriter.set(numbers.map { DERWriter.integer($0) })
    }

    private var rootOfTrust: [UInt8] {
        var isLocked = DERWriter.boolean(fault != .unlocked && profile.isLocked)
        if profile.quirks.contains(.lockedAsOne) { isLocked[2] &= 0x01 }
        if fault == .lockedAsTwo { isLocked[2] = 0x02 }
        let state: Int64 =
            switch fault {
            case .bootSelfSigned: RootOfTrust.BootState.selfSigned.rawValue
            case .bootUnverified: RootOfTrust.BootState.unverified.rawValue
            case .bootFailed: RootOfTrust.BootState.failed.rawValue
            case .bootStateUnknown: 4
            default: profile.bootState.rawValue
            }
        var fields = [
            DERWriter.octetString(profile.bootKey.array), isLocked, DERWriter.enumerated(state),
        ]
        if profile.attestationVersion >= Self.bootHashVersionMin, fault != .bootHashMissing {
            fields.append(DERWriter.octetString([UInt8](repeating: 9, count: 32)))
        }
        return DERWriter.sequence(fields)
    }
}
