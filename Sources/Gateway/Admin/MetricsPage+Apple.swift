import AppAttest
import Attestation
import Background
import Telemetry

extension MetricsPage {
    static func writeApple(_ hub: Hub, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_apple_requests_total", .counter,
            help: "Requests to Apple's services, by outcome.")
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
            help: "Times that Apple began, or continued, to refuse one of the gateway's keys.")
        for (key, count) in hub.apple.refusals {
            page.sample([("team", key.teamID), ("key", key.keyID)], count)
        }
    }

    /// Writes the device bits that came with attestations (`signals.keys_per_device_bit`).
    static func writeDeviceBits(_ hub: Hub, _ names: [String], _ page: inout MetricFamilies) {
        page.family(
            "sallyport_enrolment_device_tokens_total", .counter,
            help: "Verified attestations, by the result of their DeviceCheck token.")
        for outcome in DeviceTokenOutcome.allCases {
            page.sample(
                [("outcome", outcome.rawValue)],
                hub.meters.reduce(0) { $0 &+ $1.deviceTokenCount(outcome) })
        }
        page.family(
            "sallyport_enrolment_device_bits_total", .counter,
            help: "Verified attestations, by what is known about each bit of their device.")
        for (index, name) in names.enumerated() {
            for state in DeviceBitState.allCases {
                page.sample(
                    [("bit", name), ("state", state.rawValue)],
                    hub.meters.reduce(0) { $0 &+ $1.deviceBitCount(index, state) })
            }
        }
    }
}
