import Foundation

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

    private let item: KeychainItem

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
        item = KeychainItem(
            service: service,
            account: KeychainItem.account(environment, bundleIdentifier, gateway),
            accessGroup: accessGroup, staysOnDevice: true)
    }

    public func load() throws -> EnrolmentState? {
        // A state in the form of a later version counts as none: a new key follows.
        try item.load().flatMap { try? JSONDecoder().decode(EnrolmentState.self, from: $0) }
    }

    public func save(_ state: EnrolmentState) throws {
        try item.save(try JSONEncoder().encode(state))
    }

    /// Returns the text that ``saveText(_:)`` saved last; nil if there is none.
    public func loadText() throws -> String? {
        try item.load().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Saves the state of a client in another language, which has a form of its own. Give such a
    /// store a `service` of its own, too.
    public func saveText(_ text: String) throws { try item.save(Data(text.utf8)) }
}
