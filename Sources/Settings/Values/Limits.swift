public import HTTP2

/// Every bound of the gateway; `docs/settings.md` says what each is for.
///
/// Byte counts unless the name says otherwise.
public struct Limits: Hashable, Sendable {
    /// The decoded assertion. Apple's have 130 to 300 bytes.
    public static let assertionByteCountMax = 2 * 1024

    public var connectionCountMax = 10_000
    /// Client connections from one address (IPv6: one /64) to all workers together; nil for any
    /// number.
    public var connectionsPerAddressMax: Int?
    /// Requests from one such address that may be in progress to one upstream at each worker; nil
    /// for any number. Each stream of HTTP/2 counts. Beyond that, the address may have one more
    /// while it leaves more places for others than it has. The default is the number of streams of
    /// one HTTP/2 connection, so that no single client is refused, and a few addresses cannot shut
    /// all others out.
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
    /// Requests in one worker that wait for the registry. More get `gateway_busy`.
    public var registryQueueCountMax = 10_000
    /// The length of an SQLite registry's log beyond which no counters are written to it.
    public var registryLogByteCountMax = 1024 * 1024 * 1024
    /// The average rate, in bytes a second, at which a request body must come once its grace is
    /// over; 0 for any. The default is less than a bad mobile connection gives.
    public var bodyRateMin = 500
    /// The average rate, in bytes a second, at which a client must take an answer while a part of
    /// it waits and its grace is over; 0 for any. A client that takes a byte now and then would
    /// hold a connection, its buffers and an upstream's connection.
    public var responseRateMin = 500
    public var http2 = HTTP2Limits()
}

/// The time-outs of the gateway; `docs/settings.md` explains each.
public struct Timeouts: Hashable, Sendable {
    /// The time that a request may lie unread while the gateway cannot keep up. Zero means no
    /// bound. The default is shorter than users are willing to wait, and longer than other
    /// processes hold a gateway up.
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
    /// The time that a part of an answer may wait for the client before the client's average rate
    /// counts. It is as long as ``send``, so that a pause of a client may be as long.
    public var responseGrace: Duration = .seconds(60)
    public var settings: Duration = .seconds(10)
    public var registry: Duration = .seconds(5)
    public var bodyFile: Duration = .seconds(5)
    /// The time that a gateway goes on as before after it was told to stop, except that it is no
    /// longer ready.
    public var drainDelay: Duration = .zero
    public var drain: Duration = .seconds(30)
    public var tunnelDrain: Duration = .seconds(5)
    public var upgrade: Duration = .seconds(10)
}
