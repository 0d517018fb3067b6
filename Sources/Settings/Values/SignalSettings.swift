/// What is counted about keys, users and addresses, and what follows from too many.
public struct SignalSettings: Hashable, Sendable {
    /// How the gateway learns who the user is; nil for not at all.
    public struct User: Hashable, Sendable {
        /// The header that names the user; in lower case.
        public var header: String
        public var source = UserSource.response
        /// How long it is remembered for whom a key was used last.
        public var retention: Duration = .seconds(90 * 24 * 3600)

        public init(header: String) { self.header = header }
    }

    /// Whose word about the user is taken.
    public enum UserSource: String, Hashable, Sendable, CaseIterable {
        /// The upstream's, in its answers, which go on without that header.
        case response
        /// That of a peer in `trusted_proxies`, in requests.
        case proxy
        /// The client's: anybody may name anybody.
        case client
    }

    /// What becomes of a request on which a signal is raised.
    public enum Action: String, Hashable, Sendable {
        /// It is counted and told to the upstream.
        case observe
        /// It counts against a rate limit as well.
        case limit
        case deny
    }

    /// When a signal is raised, and what follows.
    public struct Rule: Hashable, Sendable {
        /// More than so many raise it.
        public var countMax: Int
        /// What is older does not count.
        public var window: Duration
        public var action = Action.observe
        /// The name of the limit, with ``Action/limit``.
        public var rateLimit: String?

        public init(countMax: Int, window: Duration) {
            self.countMax = countMax
            self.window = window
        }
    }

    /// The bits that Apple keeps for a device are read when a key is enrolled from it.
    public struct DeviceBits: Hashable, Sendable {
        /// What an enrolment without a good token of DeviceCheck is.
        public enum Token: String, Hashable, Sendable, CaseIterable {
            /// One of a device of which nothing is known.
            case optional
            /// None.
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
    /// Nil where Apple is not asked.
    public var deviceBits: DeviceBits?
    /// Addresses, keys and users of which something is remembered in memory, each.
    public var subjectCountMax = 16_384

    public init() {}

    /// Nothing is asked for.
    public var isEmpty: Bool { rules.isEmpty && user == nil && deviceBits == nil }

    /// Those that are asked for.
    public var rules: [Rule] {
        let rules = [userKeys, newUserKey, addressKeys, addressAttestations, keyConflicts]
        return (rules + (deviceBits?.rules ?? [])).compactMap(\.self)
    }
}
