import Policy

/// Reads the `limits` and `timeouts` of a route, which stand in place of the general ones.
enum RouteOverrideReader {
    static var entries: [Entry] {
        [
            Entry(
                "body_max", Limits.bodySize.shape,
                "The longest request body; beyond: 413. Left out: limits.body."),
            Entry(
                "limits",
                .section([
                    Entry("body", Limits.bodySize.shape, "The same as body_max, in place of it."),
                    Entry(
                        "body_memory", Limits.bodyMemory.shape, "In place of limits.body_memory."),
                ]), "Bounds in place of the general ones."),
            Entry(
                "timeouts",
                .section([
                    Entry(
                        "request", Timeouts.requestTimeout.shape, "In place of timeouts.request."),
                    Entry(
                        "request_body", Timeouts.requestBodyTimeout.shape,
                        "In place of timeouts.request_body."),
                    Entry(
                        "response", UpstreamReader.responseTimeout.shape,
                        "In place of the upstream's response_timeout."),
                    Entry(
                        "read", UpstreamReader.readTimeout.shape,
                        "In place of the upstream's read_timeout."),
                ]), "Waits in place of the general ones."),
        ]
    }

    static func read(_ section: inout Section, into route: inout Route) {
        let bodyField = section.field("body_max")
        if let byteCount = bodyField.flatMap(Limits.bodySize.read) {
            route.bodyByteCountMax = byteCount
        }
        var overrides = RouteOverrides()
        _ = section.field("limits")?.section { section in
            if let field = section.field("body") {
                if bodyField != nil { field.error("is the same as body_max: give one of them") }
                if let byteCount = Limits.bodySize.read(field) {
                    route.bodyByteCountMax = byteCount
                }
            }
            overrides.bodyMemoryByteCountMax = section.field("body_memory")
                .flatMap(Limits.bodyMemory.read)
        }
        _ = section.field("timeouts")?.section { section in
            overrides.requestTimeout = section.field("request")
                .flatMap(Timeouts.requestTimeout.read)
            overrides.requestBodyTimeout = section.field("request_body")
                .flatMap(Timeouts.requestBodyTimeout.read)
            let responseField = section.field("response")
            overrides.responseTimeout = responseField.flatMap(UpstreamReader.responseTimeout.read)
            let readField = section.field("read")
            overrides.readTimeout = readField.flatMap(UpstreamReader.readTimeout.read)
            if route.answer != nil {
                responseField?.error("is used with upstream only")
                readField?.error("is used with upstream only")
            }
        }
        route.overrides = overrides
    }
}
