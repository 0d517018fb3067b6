import AppAttest
public import Attestation
public import AttestationTesting
import Bytes
public import Crypto
public import JSON

/// One installation of an app with an App Attest key. It attests, asserts and signs requests,
/// correctly or with a chosen fault.
///
/// One thread at a time. The key stays loaded, so an assertion costs little more than its
/// signature.
public final class SimulatedDevice {
    public let appID: String
    public let environment: AttestEnvironment
    public let system: SimulatedSystem
    /// `CFBundleVersion`, sent by systems with an extension map.
    public let bundleVersion: String
    /// ``ValidationCategory``, sent by systems with an extension map.
    public let validationCategory: UInt32
    public let keyID: KeyID
    /// The number of assertions that the device has made. The next one carries one more.
    public var counter: UInt32

    let key: P256PrivateKey
    let rpIDHash: [UInt8]
    let extensionMap: [UInt8]

    public var publicKey: P256PublicKey { key.publicKey }

    /// - `key`: nil for a new one.
    /// - `validationCategory`: nil for App Store in production and development otherwise.
    public init(
        appID: String, environment: AttestEnvironment = .production,
        system: SimulatedSystem = .iOS26, key: P256PrivateKey? = nil, counter: UInt32 = 0,
        bundleVersion: String = "1", validationCategory: UInt32? = nil
    ) throws(SimulationError) {
        let fallback: ValidationCategory = environment == .production ? .appStore : .development
        self.appID = appID
        self.environment = environment
        self.system = system
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory ?? fallback.rawValue
        self.counter = counter
        if let key {
            self.key = key
        } else {
            self.key = try SimulationError.wrap { () throws(CryptoError) in try .generate() }
        }
        keyID = KeyID(of: self.key.publicKey)
        rpIDHash = SHA256.hash(Array(appID.utf8)).array
        extensionMap = system.extensionMap(
            bundleVersion: bundleVersion, category: self.validationCategory)
    }

    /// A key with a coordinate that begins with a zero byte, which careless encoders get wrong. One
    /// key in 128 has one.
    public static func keyWithLeadingZero() throws(SimulationError) -> P256PrivateKey {
        while true {
            let key = try SimulationError.wrap { () throws(CryptoError) in
                try P256PrivateKey.generate()
            }
            if key.publicKey.x[0] == 0 || key.publicKey.y[0] == 0 { return key }
        }
    }

    // MARK: saving

    /// The state to go on as the same device, including its private key.
    public func state() throws(SimulationError) -> JSONValue {
        .object([
            "app_id": .string(appID), "environment": .string(environment.rawValue),
            "system": .string(system.rawValue), "bundle_version": .string(bundleVersion),
            "validation_category": .integer(Int64(validationCategory)),
            "counter": .integer(Int64(counter)),
            "key": try StateReader.saved(key.key),
        ])
    }

    public convenience init(state: JSONValue) throws(SimulationError) {
        let reader = StateReader(state)
        guard let counter = UInt32(exactly: try reader.integer("counter")) else {
            throw .state("counter")
        }
        guard let category = UInt32(exactly: try reader.integer("validation_category")) else {
            throw .state("validation_category")
        }
        try self.init(
            appID: try reader.text("app_id"), environment: try reader.choice("environment"),
            system: try reader.choice("system"), key: try reader.p256Key("key"), counter: counter,
            bundleVersion: try reader.text("bundle_version"), validationCategory: category)
    }

    // MARK: authenticator data

    /// The fixed part: hash of the App ID, flags, counter.
    func header(rpIDHash: [UInt8]? = nil, counter: UInt32) -> [UInt8] {
        var bytes = rpIDHash ?? self.rpIDHash
        bytes.reserveCapacity(256)
        bytes.append(system.flags)
        for shift in stride(from: 24, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: counter >> UInt32(shift)))
        }
        return bytes
    }
}
