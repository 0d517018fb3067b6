import Bytes
import DER

/// What a key is and may do, as one side of the phone enforces it: its system, or its secure
/// hardware.
///
/// An authorization that a phone left out is nil, or empty. Unknown ones are skipped, and no
/// property or identifier of the device is kept.
public struct AuthorizationList: Hashable, Sendable {
    /// The purposes: 2 is sign, 3 verify.
    public private(set) var purposes: [Int64] = []
    /// The algorithm: 3 is EC.
    public private(set) var algorithm: Int64?
    /// The size of the key in bits.
    public private(set) var keySize: Int64?
    /// The digests: 4 is SHA-256, 0 none.
    public private(set) var digests: [Int64] = []
    /// The curve: 1 is P-256.
    public private(set) var ecCurve: Int64?
    /// True if the key works without the owner's fingerprint, face or code.
    public private(set) var isWithoutUserAuthentication = false
    /// The ways to prove that the owner is there, as a bit mask.
    public private(set) var userAuthType: Int64?
    /// The seconds for which such a proof lasts.
    public private(set) var authTimeout: Int64?
    /// True if any app of the phone may use the key.
    public private(set) var isForAllApplications = false
    /// Milliseconds since 1970 by the phone's clock.
    public private(set) var creationDateTime: Int64?
    /// The origin: 0 is generated there.
    public private(set) var origin: Int64?
    public private(set) var rootOfTrust: RootOfTrust?
    /// The version of Android as MMmmss; 0 on some phones.
    public private(set) var osVersion: Int64?
    /// The security patch level as YYYYMM; 0 on some phones.
    public private(set) var osPatchLevel: Int64?
    /// The vendor's patch level as YYYYMMDD; on some phones YYYYMM or 0.
    public private(set) var vendorPatchLevel: Int64?
    /// The boot loader's patch level as YYYYMMDD.
    public private(set) var bootPatchLevel: Int64?
    public private(set) var applicationID: AttestationApplicationID?
    /// The digest of the system's modules, from KeyMint 4 on.
    public private(set) var moduleHash: [UInt8]?
    /// True if the list names a serial number, an IMEI or a MEID. Their values are not kept.
    public private(set) var hasDeviceIdentifiers = false
    /// True if the tags ascend, as every keystore writes them.
    package private(set) var isAscending = true

    /// Reads the elements of a list. Each is `[tag] EXPLICIT`, and no tag may occur twice.
    init(
        _ content: Span<UInt8>, attestationVersion: Int64
    ) throws(KeyDescriptionMalformation) {
        var reader = DERReader(content)
        var seen: Set<UInt32> = []
        var last: UInt32 = 0
        while !reader.isAtEnd {
            guard let element = reader.readElement(),
                element.tag == .context(element.tag.number)
            else { throw .part("an authorization list") }
            let tag = element.tag.number
            guard seen.insert(tag).inserted else { throw .duplicate(tag: tag) }
            if tag < last { isAscending = false }
            last = tag
            var value = DERReader(element.content)
            var outcome = readKey(tag, &value)
            if outcome == nil { outcome = readSystem(tag, &value, attestationVersion) }
            if outcome == nil { outcome = readApplication(tag, &value) }
            guard let isRead = outcome else { continue }
            guard isRead, value.isAtEnd else { throw .authorization(tag: tag) }
        }
    }

    // Each of the following reads an authorization of its group. False if it is malformed, nil if
    // it belongs to another group or is not known.

    private mutating func readKey(_ tag: UInt32, _ value: inout DERReader) -> Bool? {
        switch tag {
        case AuthorizationTag.purpose: return Self.take(value.readIntegerSet(), &purposes)
        case AuthorizationTag.algorithm: return Self.take(value.readInteger(), &algorithm)
        case AuthorizationTag.keySize: return Self.take(value.readInteger(), &keySize)
        case AuthorizationTag.digest: return Self.take(value.readIntegerSet(), &digests)
        case AuthorizationTag.ecCurve: return Self.take(value.readInteger(), &ecCurve)
        case AuthorizationTag.noAuthRequired:
            isWithoutUserAuthentication = true
            return value.readNull()
        case AuthorizationTag.userAuthType: return Self.take(value.readInteger(), &userAuthType)
        case AuthorizationTag.authTimeout: return Self.take(value.readInteger(), &authTimeout)
        case AuthorizationTag.creationDateTime:
            return Self.take(value.readInteger(), &creationDateTime)
        case AuthorizationTag.origin: return Self.take(value.readInteger(), &origin)
        default: return nil
        }
    }

    private mutating func readSystem(
        _ tag: UInt32, _ value: inout DERReader, _ attestationVersion: Int64
    ) -> Bool? {
        switch tag {
        case AuthorizationTag.rootOfTrust:
            rootOfTrust = RootOfTrust(&value, attestationVersion: attestationVersion)
            return rootOfTrust != nil
        case AuthorizationTag.osVersion: return Self.take(value.readInteger(), &osVersion)
        case AuthorizationTag.osPatchLevel: return Self.take(value.readInteger(), &osPatchLevel)
        case AuthorizationTag.vendorPatchLevel:
            return Self.take(value.readInteger(), &vendorPatchLevel)
        case AuthorizationTag.bootPatchLevel:
            return Self.take(value.readInteger(), &bootPatchLevel)
        case AuthorizationTag.moduleHash:
            return Self.take(value.read(.octetString)?.array, &moduleHash)
        case _ where AuthorizationTag.deviceProperties.contains(tag):
            return value.read(.octetString) != nil
        case _ where AuthorizationTag.deviceIdentifiers.contains(tag):
            hasDeviceIdentifiers = true
            return value.read(.octetString) != nil
        default: return nil
        }
    }

    private mutating func readApplication(_ tag: UInt32, _ value: inout DERReader) -> Bool? {
        switch tag {
        case AuthorizationTag.allApplications:
            isForAllApplications = true
            return value.readNull()
        case AuthorizationTag.attestationApplicationID:
            guard let content = value.read(.octetString) else { return false }
            applicationID = AttestationApplicationID(parsing: content)
            return applicationID != nil
        default: return nil
        }
    }

    private static func take<Value>(_ value: Value?, _ property: inout Value?) -> Bool {
        property = value
        return value != nil
    }

    private static func take(_ values: [Int64]?, _ property: inout [Int64]) -> Bool {
        property = values ?? []
        return values != nil
    }
}

extension DERReader {
    /// The next element as a SET OF INTEGER, in any order: many keystores do not sort it. Nil for
    /// anything else.
    fileprivate mutating func readIntegerSet() -> [Int64]? {
        guard let content = read(.set) else { return nil }
        var elements = DERReader(content)
        var numbers: [Int64] = []
        while !elements.isAtEnd {
            guard let number = elements.readInteger() else { return nil }
            numbers.append(number)
        }
        return numbers
    }
}
