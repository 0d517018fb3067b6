import CryptoKit
import DeviceCheck
import ExpoModulesCore
import Foundation
import SallyportClient

/// The device's keys and keychain for the client in TypeScript. All arguments and results are
/// texts; bytes are in base64.
public final class SallyportModule: Module {
    /// The service of the keychain's items for states, which have a form of their own.
    private static let stateService = "app-attest-typescript"

    public func definition() -> ModuleDefinition {
        Name("SallyportKeys")

        AsyncFunction("isSupported") { DeviceAttestService().isSupported }

        AsyncFunction("generateKey") {
            try await Self.named { try await DeviceAttestService().generateKey() }
        }

        AsyncFunction("attestKey") { (keyID: String, challenge: String) in
            try await Self.named {
                try await DeviceAttestService().attestKey(
                    keyID, clientDataHash: Self.hash(challenge)
                ).base64EncodedString()
            }
        }

        AsyncFunction("generateAssertion") { (keyID: String, clientData: String) in
            try await Self.named {
                try await DeviceAttestService().generateAssertion(
                    keyID, clientDataHash: Self.hash(clientData)
                ).base64EncodedString()
            }
        }

        AsyncFunction("loadState") { (gateway: String) in
            try Self.states(gateway).loadText()
        }

        AsyncFunction("saveState") { (gateway: String, text: String) in
            try Self.states(gateway).saveText(text)
        }

        AsyncFunction("loadTicket") { (gateway: String) in
            try KeychainTicketStore(gateway: Self.url(gateway)).load()
        }

        AsyncFunction("saveTicket") { (gateway: String, text: String) in
            try KeychainTicketStore(gateway: Self.url(gateway)).save(text)
        }

        AsyncFunction("appInfo") { Self.appInfo() }
    }

    private static func hash(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }

    private static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else {
            throw Exception(name: "InvalidURL", description: "the gateway's URL is not valid")
        }
        return url
    }

    private static func states(_ gateway: String) throws -> KeychainStore {
        KeychainStore(gateway: try url(gateway), service: stateService)
    }

    /// The versions that failure reports name.
    private static func appInfo() -> [String: String] {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleVersion") as? String
        return [
            "name": Bundle.main.bundleIdentifier ?? "", "version": version ?? "",
            "system": "\(system.majorVersion).\(system.minorVersion)",
        ]
    }

    /// The result of a call to App Attest, whose failure has its kind and its name in the code.
    private static func named(_ call: () async throws -> String) async throws -> String {
        do {
            return try await call()
        } catch let error as DCError {
            throw Exception(
                name: "AppAttestFailure", description: "App Attest failed", code: code(of: error))
        }
    }

    private static func code(of error: DCError) -> String {
        switch error.code {
        case .serverUnavailable: "transient:serverUnavailable"
        case .invalidKey: "lost:invalidKey"
        case .invalidInput: "input:invalidInput"
        case .featureUnsupported: "unsupported:featureUnsupported"
        case .unknownSystemFailure: "unknown:unknownSystemFailure"
        @unknown default: "unknown:other"
        }
    }
}
