import Foundation
import Security

/// Keeps the state of an enrolment in the keychain of this device, readable after the first unlock,
/// so that background work can sign. It is in no backup and is not copied to another device.
///
/// Each gateway, App Attest environment and bundle has an item of its own, because a key of one is
/// useless to another. Otherwise builds from Xcode and from the App Store, or the members of a
/// keychain group, would take each other's key for their own and replace it.
///
/// An item may outlive the app, but keys do not: after the app is installed anew the client finds
/// that its key is gone, and makes another, once.
public struct KeychainStore: EnrolmentStore {
    /// The App Attest environment of a build's keys, by its entitlement
    /// `com.apple.developer.devicecheck.appattest-environment`.
    public enum Environment: String, CaseIterable, Sendable {
        case development, production

        /// The environment that the entitlement has by default; an app cannot read its own. A build
        /// for debugging runs from Xcode and has development keys; TestFlight and the App Store
        /// have production keys, whatever the entitlement says.
        public static var ofBuild: Self {
            #if DEBUG
                .development
            #else
                .production
            #endif
        }
    }

    private let service: String
    private let account: String
    private let accessGroup: String?

    /// - Parameters:
    ///   - gateway: The gateway's URL. One state is kept for each.
    ///   - environment: The entitlement's environment, if a build for debugging has production
    ///     keys, or one for release is run from Xcode with development keys.
    ///   - bundleIdentifier: The owner of the key, the app or the extension. A key belongs to the
    ///     process that made it.
    ///   - accessGroup: The group that an app shares with its extensions.
    public init(
        gateway: URL, environment: Environment = .ofBuild,
        bundleIdentifier: String? = Bundle.main.bundleIdentifier, service: String = "app-attest",
        accessGroup: String? = nil
    ) {
        self.service = service
        account = [environment.rawValue, bundleIdentifier ?? "", gateway.absoluteString]
            .joined(separator: " ")
        self.accessGroup = accessGroup
    }

    private var query: [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
        #if os(macOS)
            query[kSecUseDataProtectionKeychain as String] = true
        #endif
        return query
    }

    public func load() throws -> EnrolmentState? {
        var query = query
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var item: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &item)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw ClientError.keychain(status) }
        // A state in the form of a later version counts as none: a new key follows.
        return (item as? Data).flatMap { try? JSONDecoder().decode(EnrolmentState.self, from: $0) }
    }

    public func save(_ state: EnrolmentState) throws {
        let data = try JSONEncoder().encode(state)
        let values: [String: Any] = [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(query as CFDictionary, values as CFDictionary)
        if status == errSecItemNotFound {
            let item = query.merging(values) { $1 }
            status = SecItemAdd(item as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw ClientError.keychain(status) }
    }
}
