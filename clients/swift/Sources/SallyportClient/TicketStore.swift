import Foundation
import Security

/// A store for the ticket that the gateway gives with each enrolment.
///
/// A new key that is enrolled with the ticket takes the place of the old one: it keeps the
/// installation's id, user, quotas and age. So keep the ticket where it survives a reinstall: in
/// the keychain, as ``KeychainTicketStore`` does, or with the account on your own server. A ticket
/// is for one device. If two devices use one, the second becomes another installation, and the key
/// of the first is replaced.
public protocol TicketStore: Sendable {
    /// Returns the ticket that was saved last; nil if there is none.
    func load() throws -> String?
    func save(_ ticket: String) throws
}

/// Keeps the ticket in the keychain, where it survives a reinstall and moves to a new device with
/// an encrypted backup.
public struct KeychainTicketStore: TicketStore {
    private let item: KeychainItem

    /// - Parameters:
    ///   - gateway: The gateway's URL. One ticket is kept for each.
    ///   - environment: As for ``KeychainStore``.
    ///   - bundleIdentifier: As for ``KeychainStore``.
    ///   - isSynchronizable: True to keep the ticket in the iCloud keychain, if the app runs on one
    ///     device of each person. Other devices of the person get the ticket, too, and would take
    ///     the place of each other.
    public init(
        gateway: URL, environment: KeychainStore.Environment = .ofBuild,
        bundleIdentifier: String? = Bundle.main.bundleIdentifier,
        service: String = "app-attest-ticket", accessGroup: String? = nil,
        isSynchronizable: Bool = false
    ) {
        item = KeychainItem(
            service: service,
            account: KeychainItem.account(environment, bundleIdentifier, gateway),
            accessGroup: accessGroup, staysOnDevice: false, isSynchronizable: isSynchronizable)
    }

    public func load() throws -> String? {
        try item.load().map { String(decoding: $0, as: UTF8.self) }
    }

    public func save(_ ticket: String) throws { try item.save(Data(ticket.utf8)) }
}
