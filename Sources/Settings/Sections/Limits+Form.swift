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
                "Client connections of one address (of IPv6: one /64) at all workers together. "
                    + "Beyond, the answer is 429. Many phones share an address of their carrier.")
            Setting(
                "requests_per_address", \.requestsPerAddress,
                .countOrOff(1...1_000_000, "each request may hold an upstream's connection"),
                "Requests of one such address under way to one upstream at each worker that it may "
                    + "have in any case: as many as one HTTP/2 connection. Beyond, it may have "
                    + "more as long as it leaves more of connections_max than it has; else 429.")
            Setting(
                "head", \.headByteCountMax,
                .byteCount(.kibibyte ... .mebibyte, "each connection may hold as much"),
                "Request line and headers together: four times what browsers with large cookies "
                    + "send.")
            Setting(
                "fields", \.fieldCountMax,
                .count(10...1000, "clients send a dozen, and each costs a comparison"),
                "Headers of a request. nginx and Envoy draw the line there too.")
            Setting(
                "target", \.targetByteCountMax,
                .byteCount(256...64 * .kibibyte, "servers behind this one take 8KiB to 64KiB"),
                "The request target, a part of the head: the longest that browsers and CDNs "
                    + "handle.")
            Setting(
                "body", \.bodyByteCountMax, bodySize,
                "Request body of routes that set no body_max. Beyond, the answer is 413.")
            Setting(
                "body_memory", \.bodyMemoryByteCountMax, bodyMemory,
                "Bytes of one body held in memory. The rest waits in an unlinked temporary file.")
            Setting(
                "temporary_directory", \.temporaryDirectory,
                .text(.text("absolute path"), temporaryDirectory),
                "Where those files are made: a disk with room for them.")
            Setting(
                "response_head", \.responseHeadByteCountMax,
                .byteCount(.kibibyte ... .mebibyte, "each request may hold as much"),
                "Head of an upstream's answer.")
            Setting(
                "response_buffer", \.responseBufferByteCountMax,
                .byteCount(4 * .kibibyte...64 * .mebibyte, "each slow client may hold as much"),
                "Answer bytes held for a slow client before the upstream has to wait; of an HTTP/2 "
                    + "connection those of all streams together.")
            Setting(
                "requests_per_connection", \.requestsPerConnectionMax,
                .count(1...1_000_000_000, "a connection serves one request at least"),
                "Requests on one connection before it is closed, so that none lives for ever.")
            Setting(
                "assertion", \.assertionByteCountMax,
                .byteCount(256...64 * .kibibyte, "an assertion has 130 to 300 bytes"),
                "The decoded assertion.")
            Setting(
                "client_data", \.clientDataByteCountMax,
                .byteCount(256...64 * .kibibyte, "client data has a few hundred bytes"),
                "The decoded client data header.")
            Setting(
                "registry_queue", \.registryQueueCountMax,
                .count(1...1_000_000, "each waiting request holds memory"),
                "Requests of each worker that wait for the registry. Beyond, the answer is 503.")
            Setting(
                "body_rate_min", \.bodyRateMin,
                .byteRate(0...16 * .mebibyte, "slower clients are refused"),
                "How fast a request's body must come on average, once timeouts.body_grace is over. "
                    + "Less is refused with 408; 0B/s takes any pace.")
            Setting(
                "response_rate_min", \.responseRateMin,
                .byteRate(0...16 * .mebibyte, "slower clients are cut off"),
                "How fast a client must take an answer on average while some of it waits, once "
                    + "timeouts.response_grace is over. Below, the connection or stream is cut; "
                    + "0B/s takes any pace.")
            Setting(
                "http2", \.http2, .section(HTTP2Limits.form, check: HTTP2Limits.check),
                "One HTTP/2 connection. Counts of frames are what may come at once, a tenth of it "
                    + "again each second. Beyond, the connection ends with ENHANCE_YOUR_CALM.")
        }
    }

    static func check(_ field: Field, _ limits: Limits) {
        if limits.targetByteCountMax > limits.headByteCountMax {
            field.error("target is larger than head, of which the target is a part")
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

    private static func temporaryDirectory(_ field: Field) -> String? {
        guard let path = field.filePath() else { return nil }
        guard path.hasPrefix("/") else {
            field.error("\(quoted(path)) is not an absolute path")
            return nil
        }
        return path
    }
}
