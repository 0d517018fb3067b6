public import Attestation
public import Bytes

/// Apps of Apple's platforms. The id is the App ID, `TEAMID.bundle.id`; on macOS 27 the team id and
/// the signing identifier.
extension AppIdentity {
    /// - Parameter requiresMacFullSecurity: accepts a Mac's keys only with System Integrity
    ///   Protection and Full Security. Other devices are not concerned.
    public convenience init(
        id: String, environments: Set<AttestEnvironment>, requiresMacFullSecurity: Bool = false
    ) {
        self.init(
            id: id, platform: .apple, environments: environments,
            demands: requiresMacFullSecurity ? MacFullSecurity() : nil)
    }

    /// The authenticator's relying party id hash: the SHA-256 of the App ID.
    public var rpIDHash: Bytes32 { idDigest }

    /// True if a Mac's keys are accepted only with System Integrity Protection and Full Security.
    public var requiresMacFullSecurity: Bool { demands is MacFullSecurity }

    /// The team id: everything before the App ID's first period.
    public var teamID: String { String(id.prefix { $0 != "." }) }

    /// True if `text` has the form of Apple's team ids, which is also that of key ids.
    public static func isTeamID(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }
    }
}

private struct MacFullSecurity: EnrolmentDemands {}
