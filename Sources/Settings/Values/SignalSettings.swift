/// The signals that are counted for keys, users and addresses, and the actions on high counts.
public struct SignalSettings: Hashable, Sendable {
    /// The way in which the gateway learns the user of a request.
    public struct User: Hashable, Sendable {
        /// The header that names the user; in lower case.
        public var header: String
        public var source = UserSource.response
        /// The time that the gateway remembers the last user of a key.
        public var retention: Duration = .seconds(90 * 24 * 3600)

        public init(header: String) { self.header = header }
    }

    /// The party that is believed about the user.
    public enum UserSource: String, Hashable, Sendable, CaseIterable {
        /// The upstream, in its answers. The header is removed from them.
        case response
        /// A peer in `trusted_proxies`, in its requests.
        case proxy
        /// The client, although it may name any user.
        case client
    }

    /// The action on a request on which a signal is raised.
    public enum Action: String, Hashable, Sendable {
        /// The signal is counted and told to the upstream.
        case observe
        /// The request also counts against a rate limit.
        case limit
        case deny
    }

    /// A rule that says when a signal is raised, and what follows.
    public struct Rule: Hashable, Sendable {
        /// The highest count that does not raise the signal.
        public var countMax: Int
        /// The time for which events count. Older ones do not.
        public var window: Duration
        public var action = Action.observe
        /// The name of the limit, with ``Action/limit``.
        public var rateLimit: String?

        public init(countMax: Int, window: Duration) {
            self.countMax = countMax
            self.window = window
        }
    }

    /// The rule about the users of one key, and the header or cookie that tells them apart. Both
    /// are nil if ``SignalSettings/user`` tells them apart.
    public struct KeyUsers: Hashable, Sendable {
        public var rule: Rule
        /// The request header, in lower case, whose value differs between users.
        public var header: String?
        /// The cookie whose value differs between users.
        public var cookie: String?

        public init(rule: Rule) { self.rule = rule }
    }

    /// The settings for Apple's two bits for a device, which are read when it enrols a key.
    public struct DeviceBits: Hashable, Sendable {
        /// The action on an enrolment without a good DeviceCheck token.
        public enum Token: String, Hashable, Sendable, CaseIterable {
            /// It is accepted, and the bits of its device count as unknown.
            case optional
            /// It is refused.
            case required
        }

        public var token = Token.optional
        /// The rules for keys of devices with the bit set, one for each of the two bits.
        public var rules: [Rule?] = [nil, nil]

        public init() {}
    }

    public var user: User?
    /// Keys of one user.
    public var userKeys: Rule?
    /// A key that a user with an older key has used for less than the window. The rule has no use
    /// for a count.
    public var newUserKey: Rule?
    /// Keys whose requests come from one address.
    public var addressKeys: Rule?
    /// Enrolments from one address.
    public var addressAttestations: Rule?
    /// Counters of one key that came again with another challenge.
    public var keyConflicts: Rule?
    /// Users whose requests one key signed.
    public var keyUsers: KeyUsers?
    /// Addresses, and networks, from which requests of one key came.
    public var keyAddresses: Rule?
    public var keyNetworks: Rule?
    /// Signatures of one key that this gateway did not get.
    public var counterGaps: Rule?
    /// Keys enrolled under one attestation certificate.
    public var certificateKeys: Rule?
    /// Enrolments with tickets of one installation.
    public var installationSuccessions: Rule?
    /// The rules for the bits of devices, or nil if Apple is not asked.
    public var deviceBits: DeviceBits?
    /// The number of addresses, of keys and of users that memory has counts for.
    public var subjectCountMax = 16_384

    /// True if no signal is configured.
    public var isEmpty: Bool { rules.isEmpty && user == nil && deviceBits == nil }

    /// The rules that are configured.
    public var rules: [Rule] {
        let rules = [
            userKeys, newUserKey, addressKeys, addressAttestations, keyConflicts, keyUsers?.rule,
            keyAddresses, keyNetworks, counterGaps, certificateKeys, installationSuccessions,
        ]
        return (rules + (deviceBits?.rules ?? [])).compactMap(\.self)
    }
}
