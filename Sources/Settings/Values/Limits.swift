public import HTTP2

/// Every bound of the gateway; `docs/settings.md` says what each is for.
///
/// Byte counts unless the name says otherwise.
public struct Limits: Hashable, Sendable {
    /// The decoded assertion. Apple's have 130 to 300 bytes.
    public static let assertionByteCountMax = 2 * 1024

    public var connectionCountMax = 10_000
    /// Client connections of one address (of IPv6: one /64) at all workers together; nil for any.
    public var connectionsPerAddressMax: Int?
    /// Requests of one such address under way to one upstream at each worker, streams of HTTP/2
    /// each, that it may have in any case; nil for any number. Beyond, it may have one more as long
    /// as it leaves more for the others than it has. As many as one HTTP/2 connection may have: no
    /// single client is ever refused, and no few addresses can shut everybody else out.
    public var requestsPerAddress: Int? = 100
    public var headByteCountMax = 32 * 1024
    public var fieldCountMax = 100
    public var targetByteCountMax = 8 * 1024
    public var bodyByteCountMax = 1024 * 1024
    public var bodyMemoryByteCountMax = 64 * 1024
    public var temporaryDirectory = "/tmp"
    public var responseHeadByteCountMax = 64 * 1024
    public var responseBufferByteCountMax = 128 * 1024
    public var requestsPerConnectionMax = 100_000
    public var clientDataByteCountMax = 8 * 1024
    /// Requests of one worker that wait for the registry; beyond: `store_unavailable`.
    public var registryQueueCountMax = 10_000
    /// The length of an SQLite registry's log beyond which no counters are written to it.
    public var registryLogByteCountMax = 1024 * 1024 * 1024
    /// Bytes a second that a request body must come with on average, once its grace is over; 0 for
    /// any. Less than a bad mobile connection gives, more than it costs to wait for.
    public var bodyRateMin = 500
    /// Bytes a second at which a client must take an answer on average, while some of it waits and
    /// once its grace is over; 0 for any. As ``bodyRateMin``: whoever takes a byte now and then
    /// holds a connection, its buffers and an upstream's connection.
    public var responseRateMin = 500
    public var http2 = HTTP2Limits()
}

/// The time-outs of the gateway; `docs/settings.md` explains each.
public struct Timeouts: Hashable, Sendable {
    /// How long a request may lie unread while the gateway cannot keep up. Zero means no bound.
    /// Users wait for longer than this, and it is longer than a gateway is held up by others.
    public var backlog: Duration = .milliseconds(500)
    public var requestHead: Duration = .seconds(10)
    public var requestBody: Duration = .seconds(30)
    public var bodyGrace: Duration = .seconds(20)
    public var tlsHandshake: Duration = .seconds(10)
    public var idle: Duration = .seconds(75)
    /// The time for a whole request, from its first byte to the head of its response. Zero means no
    /// bound.
    public var request: Duration = .zero
    public var tunnel: Duration = .seconds(300)
    public var send: Duration = .seconds(60)
    /// How long a client may leave what waits for it before its average rate counts. It is as long
    /// as ``send``, so that no pause is worse than that.
    public var responseGrace: Duration = .seconds(60)
    public var settings: Duration = .seconds(10)
    public var registry: Duration = .seconds(5)
    public var bodyFile: Duration = .seconds(5)
    /// How long a gateway that is told to stop goes on as before, except that it is not ready.
    public var drainDelay: Duration = .zero
    public var drain: Duration = .seconds(30)
    public var tunnelDrain: Duration = .seconds(5)
    public var upgrade: Duration = .seconds(10)
}
