public import HTTP2

/// Every bound of the gateway, with its reason. Byte counts unless the name says otherwise.
public struct Limits: Hashable, Sendable {
    /// Client connections of each worker: beyond, new ones wait in the kernel's backlog.
    public var connectionCountMax = 10_000
    /// Client connections of one address (of IPv6: one /64) at all workers together; nil for any.
    public var connectionsPerAddressMax: Int?
    /// Requests of one such address under way to one upstream at each worker, streams of HTTP/2
    /// each, that it may have in any case; nil for any number. Beyond, it may have one more as long
    /// as it leaves more for the others than it has. As many as one HTTP/2 connection may have: no
    /// single client is ever refused, and no few addresses can shut everybody else out.
    public var requestsPerAddress: Int? = 100
    /// Request line and fields together: four times what browsers with large cookies send.
    public var headByteCountMax = 32 * 1024
    /// Fields of a request: nginx and Envoy refuse above 100 too.
    public var fieldCountMax = 100
    /// The request target: the longest URLs that browsers and CDNs handle reliably.
    public var targetByteCountMax = 8 * 1024
    /// Request body of a route that sets none of its own.
    public var bodyByteCountMax = 1024 * 1024
    /// Body bytes of one request held in memory; the rest goes to an unlinked temporary file.
    public var bodyMemoryByteCountMax = 64 * 1024
    /// Where those temporary files are made.
    public var temporaryDirectory = "/tmp"
    /// Response head of an upstream.
    public var responseHeadByteCountMax = 64 * 1024
    /// Answer bytes held for a client that reads slowly before the upstream is made to wait.
    public var responseBufferByteCountMax = 128 * 1024
    /// Requests on one connection before it is closed, so that none lives for ever.
    public var requestsPerConnectionMax = 100_000
    /// The decoded assertion, the decoded client data: a few hundred bytes in practice.
    public var assertionByteCountMax = 2 * 1024
    public var clientDataByteCountMax = 8 * 1024
    /// Requests of one worker that wait for the registry; beyond: `store_unavailable`.
    public var registryQueueCountMax = 10_000
    /// Bytes a second that a request body must come with on average, once its grace is over; 0 for
    /// any. Less than a bad mobile connection gives, more than it costs to wait for.
    public var bodyRateMin = 500
    /// Bytes a second at which a client must take an answer on average, while some of it waits and
    /// once its grace is over; 0 for any. As ``bodyRateMin``: whoever takes a byte now and then
    /// holds a connection, its buffers and an upstream's connection.
    public var responseRateMin = 500
    /// What one HTTP/2 connection may do.
    public var http2 = HTTP2Limits()

    public init() {}
}

/// How long the gateway waits, and for what.
public struct Timeouts: Hashable, Sendable {
    /// For a whole request head, from its first byte (or the connection's start).
    public var requestHead: Duration = .seconds(10)
    /// Between two reads of a request body.
    public var requestBody: Duration = .seconds(30)
    /// How long a request body may take before its average rate counts.
    public var bodyGrace: Duration = .seconds(20)
    /// For a TLS handshake, from the connection's start: beyond, the client is dropped.
    public var tlsHandshake: Duration = .seconds(10)
    /// For the next request on a kept-alive connection.
    public var idle: Duration = .seconds(75)
    /// For a whole request, from its first byte to the head of its answer; zero for no bound.
    public var request: Duration = .zero
    /// Without a byte either way through an upgraded connection.
    public var tunnel: Duration = .seconds(300)
    /// For a client to take any byte of an answer.
    public var send: Duration = .seconds(60)
    /// How long a client may keep what waits for it before its average rate counts: as long as
    /// ``send``, so that no pause is worse than that.
    public var responseGrace: Duration = .seconds(60)
    /// For a client to acknowledge the SETTINGS of HTTP/2 (RFC 9113 section 6.5.3).
    public var settings: Duration = .seconds(10)
    /// For the registry, by each request that asks it: the commit of a busy disk takes far less,
    /// and a client that hears nothing for longer gives up.
    public var registry: Duration = .seconds(5)
    /// For requests in progress when the gateway stops.
    public var drain: Duration = .seconds(30)
    /// For WebSockets when the gateway stops or another program takes over, of that time: they
    /// seldom end by themselves, and what else waits would wait for them.
    public var tunnelDrain: Duration = .seconds(5)
    /// For requests in progress when another program takes over: new connections wait meanwhile,
    /// and their clients for no longer than they wait for a slow network.
    public var upgrade: Duration = .seconds(10)

    public init() {}
}
