import DeviceCheck
import Foundation

/// The part of Apple's App Attest that a client needs: `DCAppAttestService` on a device, a double
/// in tests.
public protocol AttestService: Sendable {
    /// True if this process may use App Attest. It may not on simulators and in most extensions.
    var isSupported: Bool { get }

    /// Makes a key in the Secure Enclave and returns its key ID.
    func generateKey() async throws -> String

    /// Returns the attestation object of a key, which Apple issues once.
    ///
    /// - Parameter clientDataHash: 32 bytes, the SHA-256 of the challenge.
    /// - Throws: `DCError`.
    func attestKey(_ keyID: String, clientDataHash: Data) async throws -> Data

    /// Returns an assertion over a hash of 32 bytes and raises the key's counter.
    ///
    /// - Throws: `DCError`. The code `invalidKey` means that the key is gone.
    func generateAssertion(_ keyID: String, clientDataHash: Data) async throws -> Data
}

/// The App Attest service of the device.
public struct DeviceAttestService: AttestService {
    public init() {}

    public var isSupported: Bool { DCAppAttestService.shared.isSupported }

    public func generateKey() async throws -> String {
        try await DCAppAttestService.shared.generateKey()
    }

    public func attestKey(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try await DCAppAttestService.shared.attestKey(keyID, clientDataHash: clientDataHash)
    }

    public func generateAssertion(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try await DCAppAttestService.shared.generateAssertion(
            keyID, clientDataHash: clientDataHash)
    }
}

/// The part of Apple's DeviceCheck that a client needs: `DCDevice` on a device, a double in tests.
public protocol DeviceTokenService: Sendable {
    /// True if the device can make tokens.
    var isSupported: Bool { get }

    /// Returns a token, which is good for one use.
    func generateToken() async throws -> Data
}

/// The DeviceCheck service of the device.
public struct DeviceCheckService: DeviceTokenService {
    public init() {}

    public var isSupported: Bool { DCDevice.current.isSupported }

    public func generateToken() async throws -> Data { try await DCDevice.current.generateToken() }
}
