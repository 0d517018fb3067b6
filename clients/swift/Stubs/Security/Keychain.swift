import Foundation

public typealias CFDictionary = [String: Any]
public typealias CFString = String
public typealias CFTypeRef = Any
public typealias OSStatus = Int32

public let kSecClass = "class"
public let kSecClassGenericPassword = "genp"
public let kSecAttrService = "svce"
public let kSecAttrAccount = "acct"
public let kSecAttrAccessGroup = "agrp"
public let kSecAttrSynchronizable = "sync"
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlock = "ck"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let kSecReturnData = "r_Data"
public let kSecMatchLimit = "m_Limit"
public let kSecMatchLimitOne = "m_LimitOne"
public let kSecValueData = "v_Data"
public let errSecSuccess: OSStatus = 0
public let errSecParam: OSStatus = -50
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300

/// A keychain in memory.
private final class Keychain: @unchecked Sendable {
    static let shared = Keychain()
    private let lock = NSLock()
    private var items: [[String]: [String: Any]] = [:]

    private static func name(_ query: CFDictionary) -> [String] {
        [kSecAttrService, kSecAttrAccount, kSecAttrAccessGroup].map { query[$0] as? String ?? "" }
            + [query[kSecAttrSynchronizable] as? Bool == true ? "everywhere" : "here"]
    }

    func with<Result>(_ query: CFDictionary, _ body: (inout [String: Any]?) -> Result) -> Result {
        lock.withLock { body(&items[Self.name(query)]) }
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemCopyMatching(
    _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    Keychain.shared.with(query) { item in
        guard let item else { return errSecItemNotFound }
        result?.pointee = item[kSecValueData]
        return errSecSuccess
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemAdd(
    _ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus {
    Keychain.shared.with(attributes) { item in
        guard item == nil else { return errSecDuplicateItem }
        guard attributes[kSecClass] as? String == kSecClassGenericPassword else {
            return errSecParam
        }
        item = attributes
        return errSecSuccess
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus {
    Keychain.shared.with(query) { item in
        guard let old = item else { return errSecItemNotFound }
        item = old.merging(attributes) { $1 }
        return errSecSuccess
    }
}
