import EventLoop
import HTTP
import KeyStore
import Settings

/// A thing that may be suspicious about a request.
enum Signal: Int, CaseIterable, Sendable {
    case userKeys
    case newUserKey
    case addressKeys
    case addressAttestations
    case keyConflicts
    /// Of devices with the first bit set, and with the second.
    case bit0Keys
    case bit1Keys

    /// 0 or 1.
    static func keys(ofBit index: Int) -> Signal { index == 0 ? .bit0Keys : .bit1Keys }

    /// As the configuration calls it.
    var name: StaticString {
        switch self {
        case .userKeys: "keys_per_user"
        case .newUserKey: "new_key_per_user"
        case .addressKeys: "keys_per_address"
        case .addressAttestations: "attestations_per_address"
        case .keyConflicts: "conflicts_per_key"
        case .bit0Keys, .bit1Keys: "keys_per_device_bit"
        }
    }
}

/// `signals` of a configuration, compiled. A site without any has none of this.
final class SiteSignals: Sendable {
    /// When a signal is raised, and what follows.
    struct Rule: Sendable {
        let signal: Signal
        /// For log, metrics and upstreams.
        let name: String
        let countMax: Int
        let windowNanoseconds: UInt64
        let action: SignalSettings.Action
        let rateLimit: RateLimit?

        fileprivate init?(
            _ signal: Signal, _ rule: SignalSettings.Rule?, _ limits: [String: RateLimit],
            bit: String? = nil
        ) {
            guard let rule else { return nil }
            self.signal = signal
            name = signal.name.description + (bit.map { "." + $0 } ?? "")
            countMax = rule.countMax
            windowNanoseconds = rule.window.wholeNanoseconds
            action = rule.action
            rateLimit = rule.rateLimit.flatMap { limits[$0] }
        }
    }

    /// What is asked about the device of a key, when it is enrolled.
    struct DeviceBitRules: Sendable {
        let isTokenRequired: Bool
        /// Of the two bits.
        let names: [String]
        let rules: [Rule?]

        fileprivate init?(
            _ settings: SignalSettings.DeviceBits?, _ names: [String], _ limits: [String: RateLimit]
        ) {
            guard let settings else { return nil }
            isTokenRequired = settings.token == .required
            self.names = names
            rules = names.indices.map { index in
                Rule(.keys(ofBit: index), settings.rules[index], limits, bit: names[index])
            }
        }
    }

    let userKeys: Rule?
    let newUserKey: Rule?
    let addressKeys: Rule?
    let addressAttestations: Rule?
    let keyConflicts: Rule?
    let deviceBits: DeviceBitRules?
    /// The header that names the user.
    let userHeader: FieldNameSet?
    let userSource: SignalSettings.UserSource
    /// 0 where users are not asked for.
    let retentionMilliseconds: Int64

    /// `limits`: the settings' own, by name.
    init?(_ settings: Settings, _ limits: [String: RateLimit]) {
        let signals = settings.signals
        guard !signals.isEmpty else { return nil }
        userKeys = Rule(.userKeys, signals.userKeys, limits)
        newUserKey = Rule(.newUserKey, signals.newUserKey, limits)
        addressKeys = Rule(.addressKeys, signals.addressKeys, limits)
        addressAttestations = Rule(.addressAttestations, signals.addressAttestations, limits)
        keyConflicts = Rule(.keyConflicts, signals.keyConflicts, limits)
        deviceBits = DeviceBitRules(signals.deviceBits, settings.deviceBitNames, limits)
        userHeader = signals.user.map { FieldNameSet(exact: [$0.header], prefixes: []) }
        userSource = signals.user?.source ?? .response
        retentionMilliseconds = signals.user?.retention.milliseconds ?? 0
    }

    /// Whether the registry is asked who the user is.
    var asksForUser: Bool { userKeys != nil || newUserKey != nil }

    /// Keys of a user that were not used since do not count.
    func usersCountedSince(_ milliseconds: Int64) -> Int64 {
        milliseconds - Int64((userKeys?.windowNanoseconds ?? 0) / 1_000_000)
    }

    func rule(of signal: Signal) -> Rule? {
        switch signal {
        case .userKeys: userKeys
        case .newUserKey: newUserKey
        case .addressKeys: addressKeys
        case .addressAttestations: addressAttestations
        case .keyConflicts: keyConflicts
        case .bit0Keys: deviceBits?.rules[0]
        case .bit1Keys: deviceBits?.rules[1]
        }
    }
}

extension SignalSettings {
    /// What upstreams say to the gateway alone.
    var headersForGateway: [String] {
        guard let user, user.source == .response else { return [] }
        return [user.header]
    }
}
