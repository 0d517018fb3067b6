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

    /// What attestations brought of their devices (`signals.keys_per_device_bit`).
    static func writeDeviceBits(_ hub: Hub, _ names: [String], _ page: inout PrometheusText) {
        page.family(
            "sallyport_enrolment_device_tokens_total", .counter,
            help: "Attestations that verified, by what became of their token of DeviceCheck.")
        for fate in DeviceTokenFate.allCases {
            page.sample(
                [("outcome", fate.rawValue)],
                hub.meters.reduce(0) { $0 &+ $1.deviceTokenCount(fate) })
        }
        page.family(
            "sallyport_enrolment_device_bits_total", .counter,
            help: "Attestations that verified, by what is known of each bit of their device.")
        for (index, name) in names.enumerated() {
            for state in DeviceBitState.allCases {
                page.sample(
                    [("bit", name), ("state", state.rawValue)],
                    hub.meters.reduce(0) { $0 &+ $1.deviceBitCount(index, state) })
            }
        }
    }
}
