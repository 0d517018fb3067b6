import AppAttest
public import Attestation
public import Crypto

/// DeviceCheck as a proof for devices without App Attest, and the two bits that Apple keeps for
/// each device and team.
public struct DeviceCheckSettings: Hashable, Sendable {
    /// The team whose devices are asked about.
    public var teamID: String
    public var environments: [AttestEnvironment] = [.production]
    public var rate = RateLimitSettings.Rate(count: 50, period: .second)
    public var inFlightCountMax = 32
    public var tokenMemory: Duration = .seconds(3600)
    public var bitNames = appleBitNames
    /// The file with the secret of the operator's own services; nil if they may not ask.
    public var adminSecretPath: String?
    public var adminSecret: Secret?

    public init(teamID: String) { self.teamID = teamID }

    public static let appleBitNames = ["bit0", "bit1"]

    /// The index, 0 or 1, of the bit that `name` stands for: a configured name, or Apple's own.
    public static func bit(named name: String, in names: [String]) -> Int? {
        names.firstIndex(of: name) ?? appleBitNames.firstIndex(of: name)
    }
}
