public import Policy

/// One entry of `rate_limits`: a token bucket for each address or key, or one for all.
public struct RateLimitSettings: Hashable, Sendable {
    /// The kind of sender that has a bucket of its own.
    public enum Subject: String, Hashable, Sendable, CaseIterable {
        /// The client's address; of IPv6 its /64 network.
        case address
        /// A key whose assertion has been verified.
        case key
        /// All requests together.
        case global
    }

    public enum Period: String, Hashable, Sendable, CaseIterable {
        case second = "s"
        case minute = "m"
        case hour = "h"

        public var nanoseconds: UInt64 {
            switch self {
            case .second: 1_000_000_000
            case .minute: 60_000_000_000
            case .hour: 3_600_000_000_000
            }
        }
    }

    /// A number of requests in a period, spread evenly.
    public struct Rate: Hashable, Sendable {
        public var count: Int
        public var period: Period

        public init(count: Int, period: Period) {
            self.count = count
            self.period = period
        }

        /// The time from one request to the next, in nanoseconds.
        public var spacingNanoseconds: UInt64 {
            (period.nanoseconds + UInt64(max(count, 1)) - 1) / UInt64(max(count, 1))
        }
    }

    public var name: String
    public var subject: Subject
    public var rate: Rate
    /// The number of requests that may come at once after a pause.
    public var burst: Int
    /// Addresses that are not counted; with ``Subject/address`` only.
    public var exempt: [AddressBlock]

    public init(
        name: String, subject: Subject, rate: Rate, burst: Int, exempt: [AddressBlock] = []
    ) {
        self.name = name
        self.subject = subject
        self.rate = rate
        self.burst = burst
        self.exempt = exempt
    }

    /// The limits of the gateway's own endpoints if nothing else is configured. They are wide,
    /// because a mobile carrier puts thousands of phones behind one address. Private addresses are
    /// left out, because all clients would share one behind a proxy that is not trusted.
    public static let builtIn = [
        RateLimitSettings(
            name: "attestation", subject: .address, rate: Rate(count: 20, period: .second),
            burst: 200, exempt: privateBlocks),
        RateLimitSettings(
            name: "challenge", subject: .address, rate: Rate(count: 200, period: .second),
            burst: 2000, exempt: privateBlocks),
    ]

    /// RFC 1122, 1918, 3927, 4193, 4291 and 6598: addresses that no client on the internet has.
    private static let privateBlocks = [
        AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8),
        AddressBlock(address: [10, 0, 0, 0], prefixBitCount: 8),
        AddressBlock(address: [172, 16, 0, 0], prefixBitCount: 12),
        AddressBlock(address: [192, 168, 0, 0], prefixBitCount: 16),
        AddressBlock(address: [169, 254, 0, 0], prefixBitCount: 16),
        AddressBlock(address: [100, 64, 0, 0], prefixBitCount: 10),
        AddressBlock(
            address: [UInt8](repeating: 0, count: 15) + [1], prefixBitCount: 128),
        AddressBlock(
            address: [0xFC] + [UInt8](repeating: 0, count: 15), prefixBitCount: 7),
        AddressBlock(
            address: [0xFE, 0x80] + [UInt8](repeating: 0, count: 14), prefixBitCount: 10),
    ]
}

/// What senders may use: how fast, and how much in a period.
public struct SenderLimits: Hashable, Sendable {
    public var rates = RateLimitSettings.builtIn
    public var quotas: [Quota] = []

    public init() {}
}

/// The fields in which the gateway tells upstreams the client of a request.
public enum ForwardedForm: String, Hashable, Sendable, CaseIterable {
    /// `X-Forwarded-For`, `X-Forwarded-Proto`, `X-Forwarded-Host`.
    case xForwarded = "x-forwarded"
    /// `Forwarded` (RFC 7239).
    case rfc7239
    case both
}
