import Foundation
import Security

/// One item of the keychain, readable after the first unlock, so that background work can use it.
struct KeychainItem: Sendable {
    let service: String
    let account: String
    let accessGroup: String?
    /// True for an item that is in no backup and is not copied to another device.
    let staysOnDevice: Bool
    var isSynchronizable = false

    /// The name of an item that is of one gateway, one App Attest environment and one bundle.
    static func account(
        _ environment: KeychainStore.Environment, _ bundleIdentifier: String?, _ gateway: URL
    ) -> String {
        [environment.rawValue, bundleIdentifier ?? "", gateway.absoluteString]
            .joined(separator: " ")
    }

    private var query: [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
        if isSynchronizable { query[kSecAttrSynchronizable as String] = true }
        #if os(macOS)
            query[kSecUseDataProtectionKeychain as String] = true
        #endif
        return query
    }

    /// The content; nil if there is no such item.
    func load() throws -> Data? {
        var query = query
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var item: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &item)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw ClientError.keychain(status) }
        return item as? Data
    }

    func save(_ data: Data) throws {
        let accessible =
            staysOnDevice
            ? kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly : kSecAttrAccessibleAfterFirstUnlock
        let values: [String: Any] = [
            kSecValueData as String: data, kSecAttrAccessible as String: accessible,
        ]
        var status = SecItemUpdate(query as CFDictionary, values as CFDictionary)
        if status == errSecItemNotFound {
            let item = query.merging(values) { $1 }
            status = SecItemAdd(item as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw ClientError.keychain(status) }
    }
}
