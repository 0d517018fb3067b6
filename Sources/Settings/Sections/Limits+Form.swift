import HTTP2

extension Limits {
    static var form: Form<Limits> {
        Form(Limits()) {
            Setting(
                "connections", \.connectionCountMax,
                .count(1...1_000_000, "each connection holds a file descriptor"),
                "Client connections of each worker. More wait in the kernel.")
            Setting(
                "connections_per_address", \.connectionsPerAddressMax,
                .countOrOff(1...1_000_000, "each connection holds a file descriptor"),
                "Client connections of one address (for IPv6, of one /64) at all workers "
                    + "together. Connections beyond it get 429 and are closed. It is off because a "
                    + "carrier puts many phones behind one address.")
            Setting(
                "requests_per_address", \.requestsPerAddress,
                .countOrOff(1...1_000_000, "each request may hold an upstream's connection"),
                "Requests that one address may always have in flight to one upstream at each "
                    + "worker, HTTP/2 streams and WebSockets included: as many as one HTTP/2 "
                    + "connection carries. Beyond that, an address may have more only while it "
                    + "leaves more of the upstream's connections_max free than it holds; "
                    + "otherwise it gets 429. So no client shuts out the others. Raise it if "
                    + "many WebSockets come from one address.")
            Setting(
                "head", \.headByteCountMax,
                .byteCount(.kibibyte ... .mebibyte, "each connection may hold as much"),
                "The request line and headers together: four times what browsers with large "
                    + "cookies send.")
            Setting(
                "fields", \.fieldCountMax,
                .count(10...1000, "clients send a dozen, and each costs a comparison"),
                "A request's headers. nginx and Envoy draw the line at 100 too.")
            Setting(
                "target", \.targetByteCountMax,
                .byteCount(256...64 * .kibibyte, "servers behind this one take 8KiB to 64KiB"),
                "The request target, which is part of the head: the longest that browsers and "
                    + "CDNs handle.")
            Setting(
                "body", \.bodyByteCountMax, bodySize,
                "The request body on routes that set no body_max. Longer ones get 413.")
            Setting(
                "body_memory", \.bodyMemoryByteCountMax, bodyMemory,
                "The bytes of one body that are held in memory. The rest waits in an unlinked "
                    + "temporary file.")
            Setting(
                "temporary_directory", \.temporaryDirectory,
                .path(.text("absolute path"), "is not an absolute path") { $0.hasPrefix("/") },
                "The directory for those files. Its disk must have room for them.")
            Setting(
                "response_head", \.responseHeadByteCountMax,
                .byteCount(.kibibyte ... .mebibyte, "each request may hold as much"),
                "The head of an upstream's response.")
            Setting(
                "response_buffer", \.responseBufferByteCountMax,
                .byteCount(4 * .kibibyte...64 * .mebibyte, "each slow client may hold as much"),
                "Response bytes that are held for a slow client before the upstream has to wait. "
                    + "On an HTTP/2 connection all streams share them, and each has 4KiB more.")
            Setting(
                "requests_per_connection", \.requestsPerConnectionMax,
                .count(1...1_000_000_000, "a connection serves one request at least"),
                "Requests on one connection before it is closed, so that none lives forever.")
            Setting(
                "client_data", \.clientDataByteCountMax,
                .byteCount(256...64 * .kibibyte, "client data has a few hundred bytes"),
                "The decoded client data header.")
            Setting(
                "registry_queue", \.registryQueueCountMax,
                .count(1...1_000_000, "each waiting request holds memory"),
                "Requests of each worker that wait for the registry. Requests beyond it get 503.")
            Setting(
                "registry_log", \.registryLogByteCountMax,
                .byteCount(64 * .mebibyte...64 * .gibibyte, "a backup may hold as much"),
                "The write-ahead log of an SQLite registry (-wal). While another process reads the "
                    + "registry in one transaction, as a backup does, the log grows with each "
                    + "write. Beyond this length replay: durable gets 503, and accepted counters "
                    + "wait in their files. Enrolments and revocations are written up to the "
                    + "disk's own limit. Leave as much room on the disk.")
            Setting(
                "body_rate_min", \.bodyRateMin,
                .byteRate(0...16 * .mebibyte, "slower clients are refused"),
                "How fast a request's body must arrive on average once timeouts.body_grace is "
                    + "over. Slower ones get 408; 0B/s accepts any pace. With request_body: "
                    + "stream, this ends when the response begins, time in which the upstream "
                    + "takes nothing does not count, and a longer timeouts.request_body of the "
                    + "route is its grace."
            )
            Setting(
                "response_rate_min", \.responseRateMin,
                .byteRate(0...16 * .mebibyte, "slower clients are cut off"),
                "How fast a client must take a response on average, while some of it waits and "
                    + "once timeouts.response_grace is over. The connection, or the HTTP/2 "
                    + "stream, of a slower client is cut; 0B/s accepts any pace.")
            Setting(
                "http2", \.http2, .section(HTTP2Limits.form, check: HTTP2Limits.check),
                "The limits of one HTTP/2 connection. Frames are counted as what may come at "
                    + "once; a tenth of that may come again each second. Beyond it the connection "
                    + "ends with ENHANCE_YOUR_CALM.")
        }
    }

    static func check(_ section: inout Section, _ limits: inout Limits) {
        if limits.targetByteCountMax > limits.headByteCountMax {
            section.error("target is larger than head, of which the target is a part")
        }
    }

    /// The largest request body that a route can be given.
    static var bodySize: Kind<Int> {
        .byteCount(
            0...64 * .gibibyte,
            "longer bodies than fit on a disk cannot be held until they are verified")
    }

    static var bodyMemory: Kind<Int> {
        .byteCount(.kibibyte...64 * .mebibyte, "each request may hold as much")
    }
}
