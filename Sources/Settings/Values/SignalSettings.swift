/// The signals that are counted about keys, users and addresses, and what follows from too many.
public struct SignalSettings: Hashable, Sendable {
    /// The way in which the gateway learns who the user is.
    public struct User: Hashable, Sendable {
        /// The header that names the user; in lower case.
        public var header: String
        public var source = UserSource.response
        /// How long the gateway remembers for whom a key was last used.
        public var retention: Duration = .seconds(90 * 24 * 3600)

        public init(header: String) { self.header = header }
    }

    /// The party whose word about the user is believed.
    public enum UserSource: String, Hashable, Sendable, CaseIterable {
        /// The upstream's, in its answers, which go on without that header.
        case response
        /// A peer in `trusted_proxies`, in its requests.
        case proxy
        /// The client's: anybody may name anybody.
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
        /// The time that counts. Anything older does not.
        public var window: Duration
        public var action = Action.observe
        /// The name of the limit, with ``Action/limit``.
        public var rateLimit: String?

        public init(countMax: Int, window: Duration) {
            self.countMax = countMax
            self.window = window
        }
    }

    /// The rule about the users of one key, and what tells them apart: one of both, or neither if
    /// that is who ``SignalSettings/user`` says.
    public struct KeyUsers: Hashable, Sendable {
        public var rule: Rule
        /// The request header whose value is another for each user; in lower case.
        public var header: String?
        /// The cookie whose value is.
        public var cookie: String?

        public init(rule: Rule) { self.rule = rule }
    }

    /// The bits that Apple keeps for a device are read when a key is enrolled from it.
    public struct DeviceBits: Hashable, Sendable {
        /// The action on an enrolment without a good DeviceCheck token.
        public enum Token: String, Hashable, Sendable, CaseIterable {
            /// It is accepted, as of a device of which nothing is known.
            case optional
            /// It is refused.
            case required
        }

        public var token = Token.optional
        /// Keys of devices with the bit set, for each of the two.
        public var rules: [Rule?] = [nil, nil]

        public init() {}
    }

    public var user: User?
    /// Keys of one user.
    public var userKeys: Rule?
    /// A key that a user who had another one uses for less than the window; its count means
    /// nothing.
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
    /// Signatures of one key that did not come here.
    public var counterGaps: Rule?
    /// The rules for the bits of devices, or nil if Apple is not asked.
    public var deviceBits: DeviceBits?
    /// Addresses, keys and users of which something is remembered in memory, each.
    public var subjectCountMax = 16_384

    /// Nothing is asked for.
    public var isEmpty: Bool { rules.isEmpty && user == nil && deviceBits == nil }

    /// The rules that are configured.
    public var rules: [Rule] {
        let rules = [
            userKeys, newUserKey, addressKeys, addressAttestations, keyConflicts, keyUsers?.rule,
            keyAddresses, keyNetworks, counterGaps,
        ]
        return (rules + (deviceBits?.rules ?? [])).compactMap(\.self)
    }
}
