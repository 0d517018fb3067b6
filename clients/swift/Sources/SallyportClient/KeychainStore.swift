import Foundation
import Security

/// Keeps the state of an enrolment in the keychain of this device, readable after the first unlock,
/// so that background work can sign. It is in no backup and goes to no other device.
///
/// An item may outlive the app, whose keys do not: after an installation anew the client finds that
/// its key is gone, and makes another, once.
public struct KeychainStore: EnrolmentStore {
    private let service: String
    private let account: String
    private let accessGroup: String?

    /// - Parameters:
    ///   - gateway: One state is kept for each.
    ///   - accessGroup: The group that an app shares with its extensions. A key belongs to the
    ///     process that made it: let one of them enrol and sign, or give each a store of its own.
    public init(gateway: URL, service: String = "app-attest", accessGroup: String? = nil) {
        self.service = service
        account = gateway.absoluteString
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
        // A state that a later version wrote in another form is as good as none: a new key follows.
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
