import Policy

/// Reads the `limits` and `timeouts` of a route, which stand in place of the general ones.
enum RouteOverrideReader {
    static func read(_ section: inout Section, into route: inout Route) {
        let bodyField = section.field("body_max")
        if let byteCount = bodyField?.byteCount(LimitReader.bodyRange, LimitReader.bodyReason) {
            route.bodyByteCountMax = byteCount
        }
        var overrides = RouteOverrides()
        _ = section.field("limits")?.section { section in
            if let field = section.field("body") {
                if bodyField != nil { field.error("is the same as body_max: give one of them") }
                if let byteCount = field.byteCount(LimitReader.bodyRange, LimitReader.bodyReason) {
                    route.bodyByteCountMax = byteCount
                }
            }
            overrides.bodyMemoryByteCountMax = section.field("body_memory")
                .flatMap(LimitReader.bodyMemory)
        }
        _ = section.field("timeouts")?.section { section in
            overrides.requestTimeout = section.field("request")
                .flatMap(LimitReader.requestTimeout)
            overrides.requestBodyTimeout = section.field("request_body")
                .flatMap(LimitReader.requestBodyTimeout)
            let responseField = section.field("response")
            overrides.responseTimeout = responseField.flatMap(UpstreamReader.responseTimeout)
            let readField = section.field("read")
            overrides.readTimeout = readField.flatMap(UpstreamReader.readTimeout)
            if route.answer != nil {
                responseField?.error("is used with upstream only")
                readField?.error("is used with upstream only")
            }
        }
        route.overrides = overrides
    }
}
