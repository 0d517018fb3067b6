public import Attestation
public import KeyStore
public import Settings

/// The admin API's access to the registry. Only the command knows the kinds of stores.
public struct AdministrationAccess: Sendable {
    let open: @Sendable (Settings) throws -> any RegistryAdministration
    let markRevoked: @Sendable ([KeyID], Settings) throws -> Void

    /// - Parameters:
    ///   - open: connects to the registry that the settings name; blocks.
    ///   - markRevoked: tells a counter store that gateways share, after the registry; blocks.
    public init(
        open: @escaping @Sendable (Settings) throws -> any RegistryAdministration,
        markRevoked: @escaping @Sendable ([KeyID], Settings) throws -> Void
    ) {
        self.open = open
        self.markRevoked = markRevoked
    }
}
