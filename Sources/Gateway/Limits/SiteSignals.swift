import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Settings

/// The compiled `signals` of a configuration. A site without any has none.
final class SiteSignals: Sendable {
    /// A rule with its rate limit and the values needed to count.
    struct Rule: Sendable {
        let rule: SignalRule
        let windowNanoseconds: UInt64
        let rateLimit: RateLimit?

        var signal: Signal { rule.signal }
        var name: String { rule.name }
        var countMax: Int { rule.countMax }

        fileprivate init?(
            _ signal: Signal, _ rule: SignalSettings.Rule?, _ limits: [String: RateLimit],
            bit: String? = nil
        ) {
            guard let rule else { return nil }
            let name = signal.name.description + (bit.map { "." + $0 } ?? "")
            self.rule = SignalRule(
                signal, name: name, countMax: rule.countMax, SignalRule.Action(rule.action))
            windowNanoseconds = rule.window.wholeNanoseconds
            rateLimit = rule.rateLimit.flatMap { limits[$0] }
        }
    }

    /// The rules about the device of a key that is being enrolled.
    struct DeviceBitRules: Sendable {
        let isTokenRequired: Bool
        /// The names of the two bits.
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

    /// The part of a request that tells the users of one key apart.
    enum KeyUserMark: Sendable {
        /// The value of ``userHeader``.
        case user
        case header(FieldNameSet)
        case cookie([UInt8])

        fileprivate init(_ settings: SignalSettings.KeyUsers?) {
            if let header = settings?.header {
                self = .header(FieldNameSet(exact: [header], prefixes: []))
            } else if let cookie = settings?.cookie {
                self = .cookie(Array(cookie.utf8))
            } else {
                self = .user
            }
        }
    }

    let userKeys: Rule?
    let newUserKey: Rule?
    let addressKeys: Rule?
    let addressAttestations: Rule?
    let keyConflicts: Rule?
    let deviceBits: DeviceBitRules?
    let keyUsers: Rule?
    let keyAddresses: Rule?
    let keyNetworks: Rule?
    let counterGaps: Rule?
    let certificateKeys: Rule?
    let installationSuccessions: Rule?
    /// The part of a request that tells the users of one key apart.
    let keyUserMark: KeyUserMark
    /// The header that names the user.
    let userHeader: FieldNameSet?
    /// Its name in lower case.
    let userHeaderName: [UInt8]
    let userSource: SignalSettings.UserSource
    /// 0 if users are not asked for.
    let retentionMilliseconds: Int64

    /// `limits`: the limits of the settings, by name.
    init?(_ settings: Settings, _ limits: [String: RateLimit]) {
        let signals = settings.signals
        guard !signals.isEmpty else { return nil }
        userKeys = Rule(.userKeys, signals.userKeys, limits)
        newUserKey = Rule(.newUserKey, signals.newUserKey, limits)
        addressKeys = Rule(.addressKeys, signals.addressKeys, limits)
        addressAttestations = Rule(.addressAttestations, signals.addressAttestations, limits)
        keyConflicts = Rule(.keyConflicts, signals.keyConflicts, limits)
        deviceBits = DeviceBitRules(signals.deviceBits, settings.deviceBitNames, limits)
        keyUsers = Rule(.keyUsers, signals.keyUsers?.rule, limits)
        keyAddresses = Rule(.keyAddresses, signals.keyAddresses, limits)
        keyNetworks = Rule(.keyNetworks, signals.keyNetworks, limits)
        counterGaps = Rule(.counterGaps, signals.counterGaps, limits)
        certificateKeys = Rule(.certificateKeys, signals.certificateKeys, limits)
        installationSuccessions = Rule(
            .installationSuccessions, signals.installationSuccessions, limits)
        keyUserMark = KeyUserMark(signals.keyUsers)
        userHeader = signals.user.map { FieldNameSet(exact: [$0.header], prefixes: []) }
        userHeaderName = ASCII.lowercased(Array((signals.user?.header ?? "").utf8).span)
        userSource = signals.user?.source ?? .response
        retentionMilliseconds = signals.user?.retention.milliseconds ?? 0
    }

    /// True if the registry is asked for the user.
    var asksForUser: Bool { userKeys != nil || newUserKey != nil }

    /// The time since which a key of a user must have been used to count.
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
        case .keyUsers: keyUsers
        case .keyAddresses: keyAddresses
        case .keyNetworks: keyNetworks
        case .counterGaps: counterGaps
        case .certificateKeys: certificateKeys
        case .installationSuccessions: installationSuccessions
        }
    }
}

extension SiteSignals.Rule {
    /// The text for the event log of a count that all gateways together have come to. `holder`: the
    /// name of its subject, if the log may have one.
    func sharedText(_ count: Int, of holder: String?) -> String {
        "\(name): \(holder.map { $0 + " has " } ?? "")\(count), counted by all gateways together"
    }
}

extension SignalRule.Action {
    fileprivate init(_ action: SignalSettings.Action) {
        self =
            switch action {
            case .observe: .observe
            case .limit: .limit
            case .deny: .deny
            }
    }
}

extension SignalSettings {
    /// The headers that upstreams send to the gateway alone.
    var headersForGateway: [String] {
        guard let user, user.source == .response else { return [] }
        return [user.header]
    }
}
