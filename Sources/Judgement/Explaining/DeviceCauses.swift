/// The causes from DeviceCheck, from rate limits and from signals.
enum DeviceCauses {
    private typealias Row = CauseExplanation

    /// A device token is judged on a route, or its bits are noted at an enrolment, which goes on.
    private static let refused: [Reason] = [.deviceTokenInvalid, .ok]
    private static let unjudged: [Reason] = [.storeUnavailable, .gatewayBusy, .ok]

    static let deviceCheck: [CauseExplanation] = [
        Row(
            [.deviceTokenInvalid], ["token_missing"], .clientApp,
            "The route takes only DeviceCheck tokens, and none came.",
            "Send a token of DCDevice, or add assertion to accept of the route."),
        Row(
            refused, ["device_token_missing"], .clientApp,
            "The attestation came without a DeviceCheck token, and signals demand one.",
            "Send a token of DCDevice with it, or set the signal's token to optional."),
        Row(
            refused, ["device_token_repeated"], .clientApp,
            "The header with the DeviceCheck token came more than once.",
            "Send the token once."),
        Row(
            refused, ["device_token_malformed"], .clientApp,
            "The DeviceCheck token is not base64, or is too long.",
            "Send the bytes of generateToken in base64."),
        Row(
            refused, ["device_token_bad"], .clientApp,
            "Apple does not accept the DeviceCheck token.",
            "Use a token once, soon, and in an environment of device_check.environments. "
                + "Simulators have none; many are guesses."),
        Row(
            refused, ["device_token_spent"], .clientApp,
            "The DeviceCheck token was used before.",
            "Generate a token for every request. A replay ends here, too."),
        Row(
            [.rateLimited, .ok], ["device_check_rate"], .operator,
            "device_check.rate is used up.",
            "Raise it, or limit the route by address."),
        Row(
            [.gatewayBusy, .ok], ["device_check_busy"], .operator,
            "device_check.in_flight_max is reached.",
            "Raise it, or limit the route by address."),
        Row(
            [.gatewayBusy, .ok], ["device_check_queue"], .operator,
            "The queue of questions to Apple is full.", "Limit the route by address."),
        Row(
            unjudged, ["device_check_unconfigured"], .operator,
            "A reload has removed device_check.",
            "Nothing, or configure device_check again."),
        Row(
            unjudged, ["device_check_too_many_in_flight"], .operator,
            "apple.in_flight_max is reached.",
            "Raise it, or limit the route by address."),
        Row(
            unjudged, ["device_check_throttled"], .apple, "Apple throttles the gateway.",
            "Lower device_check.rate."),
        Row(
            unjudged, ["device_check_unauthorized", "device_check_forbidden"], .operator,
            "Apple does not accept the gateway's key.",
            "Check apple.keys with sallyport doctor: key, team, clock."),
        Row(
            unjudged, ["device_check_no_key"], .operator,
            "apple.keys has no key of the team.", "Add a key of this team to apple.keys."),
        Row(
            unjudged, ["device_check_server_error"], .apple, "Apple's server failed.",
            "Nothing, or look at Apple's status page."),
        Row(
            unjudged, ["device_check_timeout", "device_check_unreachable"], .operator,
            "Apple's server did not answer, or cannot be reached.",
            "Check proxy, firewall and name resolution with sallyport doctor."),
        Row(
            unjudged,
            [
                "device_check_bad_request", "device_check_unexpected", "device_check_malformed",
                "device_check_<outcome>",
            ], .apple,
            "Apple's answer about the device was unexpected.",
            "See the event of the same moment. A proxy may answer in Apple's place; else report "
                + "it."),
        Row(
            [.notFound], ["device_check"], .operator,
            "The path for the two bits of a device is not configured.",
            "Configure device_check.admin_secret_file, and call the admin listener."),
    ]

    static let limits: [CauseExplanation] = [
        Row(
            [.rateLimited], ["rate: <limit> (<reason>)"], .clientApp,
            "A request that fell short, for the reason in brackets, was beyond its rate limit.",
            "Look up the reason. The limit is one of rate_limits."),
        Row(
            [.rateLimited], ["rate: <limit>"], .clientApp,
            "The rate limit of this name is used up.",
            "Raise it in rate_limits if these are your users. If all clients have one address, "
                + "name the proxy in trusted_proxies."),
        Row(
            [.rateLimited], ["requests_per_address"], .clientApp,
            "One address has its share of the upstream's places in use.",
            "Raise limits.requests_per_address if many users share the address."),
        Row(
            [.rateLimited], ["attest_rollout"], .none,
            "The rollout of attestations has not reached this installation yet.",
            "Nothing: see endpoints.attest_rollout."),
        Row(
            [.quotaExhausted], ["quota: <name>"], .clientApp,
            "The sender has used up the quota of this name. Retry-After tells when its period "
                + "ends.",
            "See what the sender has used with sallyport quota show, and grant it more, or raise "
                + "the limit in quotas."),
        Row(
            [.abuseSuspected], ["signal: <name>"], .stranger,
            "A signal is raised for this user, address, device, certificate or installation, and "
                + "its action is deny.",
            "Look at the signal's count. If these are your users, raise its max, or set its action "
                + "to observe."),
    ]
}
