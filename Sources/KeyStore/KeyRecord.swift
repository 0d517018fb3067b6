public import Attestation
public import Crypto

/// The status of a known key, which decides if it may be used.
public enum KeyStatus: String, Sendable {
    case active
    case revoked
    /// Everything about the key was deleted on request. The id stays, so that it cannot enrol
    /// again.
    case erased
}

/// The two bits that Apple keeps for a key's device (DeviceCheck), as the gateway last heard of
/// them.
public struct DeviceBits: Hashable, Sendable {
    public var bit0: Bool
    public var bit1: Bool

    public init(bit0: Bool, bit1: Bool) {
        self.bit0 = bit0
        self.bit1 = bit1
    }

    /// The bit with this index, 0 or 1.
    public subscript(index: Int) -> Bool { index == 0 ? bit0 : bit1 }
}

/// The registry's record of an enrolled key.
public struct KeyRecord: Hashable, Sendable {
    public var keyID: KeyID
    public var publicKey: P256PublicKey
    public var appID: String
    public var environment: AttestEnvironment
    /// The platform that vouched for the key.
    public var platform: PlatformName
    /// The place in which the device keeps the key; nil if the platform has only one.
    public var securityLevel: SecurityLevel?
    /// Seconds since 1970-01-01T00:00:00Z.
    public var enrolledAt: Int64
    public var status: KeyStatus
    /// No counter up to this one is accepted, whatever the counter store remembers.
    public var counterFloor: UInt32
    /// The app's version by the enrolment, if it told.
    public var bundleVersion: String?
    /// The app's way onto the device by the enrolment, if it told.
    public var validationCategory: UInt32?
    /// Roughly how many keys the app attested on this device in 30 days, by the last receipt; nil
    /// if the platform has not told.
    public var riskMetric: UInt32?
    /// The bits of the key's device; nil if Apple was not asked for them, or has not told.
    public var deviceBits: DeviceBits?
    /// The last receipt as it came; nil if the enrolment carried none that is usable.
    public var receipt: [UInt8]?
    /// The state of the receipt, or nil if there is no receipt.
    public var receiptState: ReceiptState?
    /// The serial numbers of the certificates that vouch for the key, in lower-case hexadecimal
    /// without leading zeros, and each once. Empty if none can be withdrawn. Requests do not need
    /// them, so they are read only where receipts are; a registry gives them sorted.
    public var certificates: [String] = []
    /// The key's place in its installation; nil if the installation has had no other key.
    public var succession: KeySuccession?

    public init(
        keyID: KeyID, publicKey: P256PublicKey, appID: String, environment: AttestEnvironment,
        enrolledAt: Int64, platform: PlatformName = .apple, securityLevel: SecurityLevel? = nil,
        status: KeyStatus = .active, counterFloor: UInt32 = 0,
        bundleVersion: String? = nil, validationCategory: UInt32? = nil, riskMetric: UInt32? = nil,
        deviceBits: DeviceBits? = nil, receipt: [UInt8]? = nil, receiptState: ReceiptState? = nil
    ) {
        self.keyID = keyID
        self.publicKey = publicKey
        self.appID = appID
        self.environment = environment
        self.enrolledAt = enrolledAt
        self.platform = platform
        self.securityLevel = securityLevel
        self.status = status
        self.counterFloor = counterFloor
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory
        self.riskMetric = riskMetric
        self.deviceBits = deviceBits
        self.receipt = receipt
        self.receiptState = receiptState
    }

    /// This record with `counter` as its floor, if that is higher.
    public func raised(to counter: UInt32?) -> KeyRecord {
        var record = self
        record.counterFloor = max(counterFloor, counter ?? 0)
        return record
    }
}
