import Foundation

/// A failure, with the codes of Apple's DeviceCheck.
public struct DCError: Error, Equatable, Sendable {
    public enum Code: Sendable {
        case unknownSystemFailure, featureUnsupported, invalidInput, invalidKey, serverUnavailable
    }

    public let code: Code

    public init(_ code: Code) { self.code = code }
}

/// The service of a machine that has none.
public final class DCAppAttestService: Sendable {
    public static let shared = DCAppAttestService()

    public var isSupported: Bool { false }

    public func generateKey() async throws -> String { throw DCError(.featureUnsupported) }

    public func attestKey(_ keyID: String, clientDataHash: Data) async throws -> Data {
        throw DCError(.featureUnsupported)
    }

    public func generateAssertion(_ keyID: String, clientDataHash: Data) async throws -> Data {
        throw DCError(.featureUnsupported)
    }
}

/// The device of a machine that is none of Apple's.
public final class DCDevice: Sendable {
    public static let current = DCDevice()

    public var isSupported: Bool { false }

    public func generateToken() async throws -> Data { throw DCError(.featureUnsupported) }
}
