public import AppAttest

/// DeviceCheck: as a proof for devices without App Attest, and the two bits that Apple keeps for
/// each device and team.
public struct DeviceCheckSettings: Hashable, Sendable {
    /// Whose devices are asked about.
    public var teamID: String
    /// Which of Apple's services may know a request's device, in the order in which they are asked.
    public var environments: [AttestEnvironment] = [.production]
    /// How often requests may make the gateway ask Apple: beyond, they are not judged.
    public var rate = RateLimitSettings.Rate(count: 50, period: .second)
    /// Questions under way for requests: the rest of `apple.in_flight_max` is for the operator.
    public var inFlightCountMax = 32
    /// How long a token that was accepted is remembered: Apple lets one be used again for a while,
    /// for retries, and does not say for how long.
    public var tokenMemory: Duration = .seconds(3600)
    /// What the bits mean.
    public var bitNames = appleBitNames
    /// Holds the secret of the operator's own services; nil where they may not ask.
    public var adminSecretPath: String?
    public var adminSecret: [UInt8]?

    public init(teamID: String) { self.teamID = teamID }

    public static let appleBitNames = ["bit0", "bit1"]

    /// 0 or 1: the bit that `name` stands for, here or at Apple.
    public static func bit(named name: String, in names: [String]) -> Int? {
        names.firstIndex(of: name) ?? appleBitNames.firstIndex(of: name)
    }
}
