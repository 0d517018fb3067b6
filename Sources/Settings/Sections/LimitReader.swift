/// Reads `limits` and `timeouts`; ``Limits`` and ``Timeouts`` say what each is for.
enum LimitReader {
    private static let kibibyte = 1024
    private static let mebibyte = 1024 * 1024
    private static let gibibyte = 1024 * 1024 * 1024

    /// The largest request body that a route can be given.
    static let bodyRange = 0...64 * gibibyte
    static let bodyReason =
        "longer bodies than fit on a disk cannot be held until they are verified"

    static func limits(_ field: Field) -> Limits? {
        field.section { section in
            var limits = Limits()
            section.set("connections", &limits.connectionCountMax) {
                $0.count(1...1_000_000, "each connection holds a file descriptor")
            }
            section.set("connections_per_address", &limits.connectionsPerAddressMax) { field in
                field.countOrOff(1...1_000_000, "each connection holds a file descriptor")
            }
            section.set("requests_per_address", &limits.requestsPerAddress) { field in
                field.countOrOff(1...1_000_000, "each request may hold an upstream's connection")
            }
            section.set("head", &limits.headByteCountMax) {
                $0.byteCount(kibibyte...mebibyte, "each connection may hold as much")
            }
            section.set("fields", &limits.fieldCountMax) {
                $0.count(10...1000, "clients send a dozen, and each costs a comparison")
            }
            section.set("target", &limits.targetByteCountMax) {
                $0.byteCount(256...64 * kibibyte, "servers behind this one take 8KiB to 64KiB")
            }
            section.set("body", &limits.bodyByteCountMax) { $0.byteCount(bodyRange, bodyReason) }
            section.set("body_memory", &limits.bodyMemoryByteCountMax, bodyMemory)
            section.set("temporary_directory", &limits.temporaryDirectory, temporaryDirectory)
            section.set("response_head", &limits.responseHeadByteCountMax) {
                $0.byteCount(kibibyte...mebibyte, "each request may hold as much")
            }
            section.set("response_buffer", &limits.responseBufferByteCountMax) {
                $0.byteCount(4 * kibibyte...64 * mebibyte, "each slow client may hold as much")
            }
            section.set("requests_per_connection", &limits.requestsPerConnectionMax) {
                $0.count(1...1_000_000_000, "a connection serves one request at least")
            }
            section.set("assertion", &limits.assertionByteCountMax) {
                $0.byteCount(256...64 * kibibyte, "an assertion has 130 to 300 bytes")
            }
            section.set("client_data", &limits.clientDataByteCountMax) {
                $0.byteCount(256...64 * kibibyte, "client data has a few hundred bytes")
            }
            section.set("registry_queue", &limits.registryQueueCountMax) {
                $0.count(1...1_000_000, "each waiting request holds memory")
            }
            section.set("body_rate_min", &limits.bodyRateMin) {
                $0.byteRate(0...16 * mebibyte, "slower clients are refused")
            }
            section.set("response_rate_min", &limits.responseRateMin) {
                $0.byteRate(0...16 * mebibyte, "slower clients are cut off")
            }
            section.set("http2", &limits.http2, HTTP2LimitReader.limits)
            if limits.targetByteCountMax > limits.headByteCountMax {
                field.error("target is larger than head, of which the target is a part")
            }
            return limits
        }
    }

    private static func temporaryDirectory(_ field: Field) -> String? {
        guard let path = field.filePath() else { return nil }
        guard path.hasPrefix("/") else {
            field.error("\(quoted(path)) is not an absolute path")
            return nil
        }
        return path
    }

    static func bodyMemory(_ field: Field) -> Int? {
        field.byteCount(kibibyte...64 * mebibyte, "each request may hold as much")
    }

    private static let shortest = Duration.milliseconds(100)

    static func requestBodyTimeout(_ field: Field) -> Duration? {
        field.duration(shortest, .seconds(600), "slow bodies hold memory")
    }

    static func requestTimeout(_ field: Field) -> Duration? {
        if let text = field.text(), text.value == "off" { return .zero }
        return field.duration(shortest, .seconds(24 * 3600), "clients wait for it")
    }

    static func timeouts(_ field: Field) -> Timeouts? {
        field.section { section in
            var timeouts = Timeouts()
            section.set("request_head", &timeouts.requestHead) {
                $0.duration(shortest, .seconds(300), "slow heads hold connections")
            }
            section.set("request_body", &timeouts.requestBody, requestBodyTimeout)
            section.set("tls_handshake", &timeouts.tlsHandshake) {
                $0.duration(shortest, .seconds(120), "unfinished handshakes hold connections")
            }
            section.set("body_grace", &timeouts.bodyGrace) {
                $0.duration(shortest, .seconds(600), "slow bodies hold memory")
            }
            section.set("idle", &timeouts.idle) {
                $0.duration(shortest, .seconds(3600), "idle clients hold connections")
            }
            section.set("send", &timeouts.send) {
                $0.duration(shortest, .seconds(600), "clients that do not read hold memory")
            }
            section.set("response_grace", &timeouts.responseGrace) {
                $0.duration(shortest, .seconds(600), "clients that do not read hold memory")
            }
            section.set("http2_settings", &timeouts.settings) {
                $0.duration(shortest, .seconds(300), "clients acknowledge in a round trip")
            }
            section.set("request", &timeouts.request, requestTimeout)
            section.set("tunnel", &timeouts.tunnel) {
                $0.duration(.seconds(1), .seconds(24 * 3600), "idle tunnels hold connections")
            }
            section.set("registry", &timeouts.registry) {
                $0.duration(shortest, .seconds(60), "requests that wait hold memory")
            }
            section.set("drain", &timeouts.drain) {
                $0.duration(.zero, .seconds(3600), "a stopping process must end some time")
            }
            section.set("tunnel_drain", &timeouts.tunnelDrain) {
                $0.duration(.zero, .seconds(3600), "a stopping process must end some time")
            }
            section.set("upgrade", &timeouts.upgrade) {
                $0.duration(.zero, .seconds(60), "new connections wait meanwhile")
            }
            return timeouts
        }
    }
}
