import Policy

/// Declares the `limits` and `timeouts` of a route, which replace the general ones.
enum RouteOverrideReader {
    static func settings(_ start: Route) -> [Setting<Route>] {
        let limits = Setting(
            "limits", group: limits(start), "Limits of this route.",
            printed: { $0.overrides.bodyMemoryByteCountMax != nil })
        let timeouts = Setting(
            "timeouts", group: timeouts(start), "Time-outs of this route."
        ) { route in
            let timeouts = route.overrides
            return [
                timeouts.requestTimeout, timeouts.requestBodyTimeout, timeouts.responseTimeout,
                timeouts.readTimeout,
            ].contains { $0 != nil }
        }
        return [limits, timeouts]
    }

    private static func limits(_ start: Route) -> Form<Route> {
        Form(start) {
            Setting(
                "body", \.bodyByteCountMax, Limits.bodySize.printed { _ in false },
                "Another name of body_max.")
            Setting(
                "body_memory", optional: \.overrides.bodyMemoryByteCountMax, Limits.bodyMemory,
                "Replaces limits.body_memory.")
        }
    }

    private static func timeouts(_ start: Route) -> Form<Route> {
        Form(start) {
            Setting(
                "request", optional: \.overrides.requestTimeout, Timeouts.requestTimeout,
                "Replaces timeouts.request.")
            Setting(
                "request_body", optional: \.overrides.requestBodyTimeout,
                Timeouts.requestBodyTimeout, "Replaces timeouts.request_body.")
            Setting(
                "response", optional: \.overrides.responseTimeout,
                UpstreamSettings.responseTimeout, "Replaces the upstream's response_timeout.")
            Setting(
                "read", optional: \.overrides.readTimeout, UpstreamSettings.readTimeout,
                "Replaces the upstream's read_timeout.")
        }
    }

    static func check(_ section: inout Section, _ route: Route) {
        let (context, path) = (section.context, section.place.path)
        if section.field("body_max") != nil, context.has("\(path).limits.body") {
            context.error(
                "is the same as body_max: give one of them", at: "\(path).limits.body")
        }
        for key in ["response", "read"]
        where route.answer != nil && context.has("\(path).timeouts.\(key)") {
            context.error("is used with upstream only", at: "\(path).timeouts.\(key)")
        }
    }
}
