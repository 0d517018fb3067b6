import AndroidAttestation
public import Attestation
public import AttestationTesting
import Bytes
public import Crypto
public import JSON

/// One installation of an Android app with a key in the phone's Keystore. It attests and signs
/// requests, correctly or with a chosen fault.
public final class SimulatedPhone: Sendable {
    public let profile: PhoneProfile
    public let keyID: KeyID

    let key: P256PrivateKey

    public var publicKey: P256PublicKey { key.publicKey }

    /// `key`: nil for a new one.
    public init(
        _ profile: PhoneProfile, key: P256PrivateKey? = nil
    ) throws(SimulationError) {
        self.profile = profile
        if let key {
            self.key = key
        } else {
            self.key = try SimulationError.wrap { () throws(CryptoError) in
                try .generate()
            }
        }
        keyID = KeyID(of: self.key.publicKey)
    }

    // MARK: saving

    /// The state to go on as the same phone, including its private key.
    public func state() throws(SimulationError) -> JSONValue {
        .object(["profile": profile.state, "key": try StateReader.saved(key.key)])
    }

    public convenience init(state: JSONValue) throws(SimulationError) {
        let reader = StateReader(state)
        guard let profile = state["profile"] else { throw .state("profile") }
        try self.init(PhoneProfile(state: profile), key: try reader.p256Key("key"))
    }

    // MARK: proofs

    /// The signature of a request: ECDSA with SHA-256 over the client data's bytes, in DER.
    public func sign(clientData: [UInt8]) throws(SimulationError) -> [UInt8] {
        try SimulationError.wrap { () throws(CryptoError) in try key.sign(clientData) }
    }

    /// The bytes that an app passes to `setAttestationChallenge` for a gateway's challenge, of
    /// which Keystore takes at most 128.
    public static func attestationChallenge(of token: [UInt8]) -> [UInt8] {
        token.count > 128 ? SHA256.hash(token).array : token
    }

    /// The certificates of the phone's key in DER, leaf first, made at `seconds` since 1970.
    ///
    /// - `challenge`: what the app passes to `setAttestationChallenge`, at most 128 bytes.
    /// - `fault`: the fault of the attestation.
    public func attestation(
        challenge: [UInt8], by google: SimulatedGoogle, at seconds: Int64,
        fault: AndroidFault? = nil
    ) throws(SimulationError) -> [[UInt8]] {
        try attestation(
            challenge: challenge, by: google, at: seconds, certifying: .p256(publicKey),
            fault: fault)
    }

    /// The extension that describes the phone's key, alone.
    public func keyDescription(
        challenge: [UInt8], at seconds: Int64, fault: AndroidFault? = nil
    ) -> [UInt8] {
        KeyDescriptionWriter(
            profile: profile, challenge: challenge, fault: fault, seconds: seconds
        ).value
    }

    /// The certificates of `leafKey` instead of the phone's key.
    package func attestation(
        challenge: [UInt8], by google: SimulatedGoogle, at seconds: Int64,
        certifying leafKey: SubjectKey, fault: AndroidFault? = nil
    ) throws(SimulationError) -> [[UInt8]] {
        var minting = ChainMinting(
            phone: self, google: google, challenge: challenge, seconds: seconds,
            leafKey: leafKey, fault: fault)
        return try minting.chain()
    }
}
