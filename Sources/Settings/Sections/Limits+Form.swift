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
                "Client connections of one address (for IPv6, of one /64). More get 429 and are "
                    + "closed. Off, because a carrier puts many phones behind one address.")
            Setting(
                "requests_per_address", \.requestsPerAddress,
                .countOrOff(1...1_000_000, "each request may hold an upstream's connection"),
                "Requests of one address in flight to one upstream at each worker. It may have "
                    + "more while it leaves more of connections_max free than it holds; otherwise "
                    + "it gets 429. Raise it if many WebSockets come from one address.")
            Setting(
                "head", \.headByteCountMax,
                .byteCount(.kibibyte ... .mebibyte, "each connection may hold as much"),
                "The request line and headers together.")
            Setting(
                "fields", \.fieldCountMax,
                .count(10...1000, "clients send a dozen, and each costs a comparison"),
                "The number of a request's headers.")
            Setting(
                "target", \.targetByteCountMax,
                .byteCount(256...64 * .kibibyte, "servers behind this one take 8KiB to 64KiB"),
                "The request target.")
            Setting(
                "body", \.bodyByteCountMax, bodySize,
                "The request body on routes without body_max. Longer ones get 413.")
            Setting(
                "body_memory", \.bodyMemoryByteCountMax, bodyMemory,
                "The bytes of one body held in memory. The rest waits in an unlinked temporary "
                    + "file.")
            Setting(
                "temporary_directory", \.temporaryDirectory,
                .path(.text("absolute path"), "is not an absolute path") { $0.hasPrefix("/") },
                "The directory for those files. Its disk needs room for them.")
            Setting(
                "response_head", \.responseHeadByteCountMax,
                .byteCount(.kibibyte ... .mebibyte, "each request may hold as much"),
                "The head of an upstream's response.")
            Setting(
                "response_buffer", \.responseBufferByteCountMax,
                .byteCount(4 * .kibibyte...64 * .mebibyte, "each slow client may hold as much"),
                "Response bytes held for a slow client before the upstream has to wait.")
            Setting(
                "requests_per_connection", \.requestsPerConnectionMax,
                .count(1...1_000_000_000, "a connection serves one request at least"),
                "Requests before a connection is closed.")
            Setting(
                "client_data", \.clientDataByteCountMax,
                .byteCount(256...64 * .kibibyte, "client data has a few hundred bytes"),
                "The decoded client data header.")
            Setting(
                "registry_queue", \.registryQueueCountMax,
                .count(1...1_000_000, "each waiting request holds memory"),
                "Requests of each worker that wait for the registry. More get 503.")
            Setting(
                "registry_log", \.registryLogByteCountMax,
                .byteCount(64 * .mebibyte...64 * .gibibyte, "a backup may hold as much"),
                "The write-ahead log of an SQLite registry (-wal), which grows while another "
                    + "process, such as a backup, reads the registry. Beyond this length replay: "
                    + "durable gets 503. Enrolments and revocations continue until the disk is "
                    + "full. Leave as much room on the disk.")
            Setting(
                "body_rate_min", \.bodyRateMin,
                .byteRate(0...16 * .mebibyte, "slower clients are refused"),
                "The average rate at which a request's body must arrive after timeouts.body_grace. "
                    + "Slower ones get 408; 0B/s accepts any rate. With request_body: stream it "
                    + "applies until the response begins."
            )
            Setting(
                "response_rate_min", \.responseRateMin,
                .byteRate(0...16 * .mebibyte, "slower clients are cut off"),
                "The average rate at which a client must take a response that waits, after "
                    + "timeouts.response_grace. A slower connection or HTTP/2 stream is cut; 0B/s "
                    + "accepts any rate.")
            Setting(
                "http2", \.http2, .section(HTTP2Limits.form, check: HTTP2Limits.check),
                "Limits of one HTTP/2 connection. Frames: as many at once, and a tenth of that "
                    + "each second; then the connection ends with ENHANCE_YOUR_CALM.")
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
