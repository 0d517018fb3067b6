import AppAttest
import Telemetry

extension MetricsPage {
    static func writeApple(_ hub: Hub, _ page: inout PrometheusText) {
        page.family(
            "sallyport_apple_requests_total", .counter,
            help: "What was asked of Apple's services, by what came of it.")
        for (requests, count) in hub.apple.requests {
            page.sample(
                [
                    ("service", requests.service),
                    ("environment", requests.environment.rawValue),
                    ("outcome", requests.outcome),
                ], count)
        }
        page.family(
            "sallyport_apple_key_refusals_total", .counter,
            help: "Times that Apple began to refuse one of our keys, or still did.")
        for (key, count) in hub.apple.refusals {
            page.sample([("team", key.teamID), ("key", key.keyID)], count)
        }
    }
}
