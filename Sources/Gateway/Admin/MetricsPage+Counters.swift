import Attestation

extension MetricsPage {
    /// The counts of each worker that are not about a route: the count, its family and its help.
    static let workerCounters: [(WorkerMeter.Count, String, String)] = [
        (.requests, "sallyport_requests_started_total", "Requests whose head was read."),
        (.challenges, "sallyport_challenges_issued_total", "Challenges sealed."),
        (.tokens, "sallyport_session_tokens_issued_total", "Session tokens issued."),
        (
            .developerTokens, "sallyport_developer_token_requests_total",
            "Requests accepted by a developer token."
        ),
        (
            .retries, "sallyport_upstream_retries_total",
            "Requests sent again: a reused connection had died, or none could be made."
        ),
        (
            .connectionsRefused, "sallyport_connections_refused_total",
            "Connections closed at once because their address already had "
                + "limits.connections_per_address, or over TLS because they had waited for "
                + "timeouts.backlog."
        ),
        (
            .proxyHeadersRefused, "sallyport_proxy_headers_refused_total",
            "Connections of proxies closed because they did not begin with a PROXY header."
        ),
        (
            .retriesDenied, "sallyport_upstream_retries_denied_total",
            "Requests not sent again because the budget of retries was spent."
        ),
        (.tunnels, "sallyport_tunnels_total", "Connections that became WebSockets."),
        (
            .counterConflicts, "sallyport_key_conflicts_total",
            "Counters that came again with another challenge: a key on two devices."
        ),
        (
            .unconfirmed, "sallyport_redis_unconfirmed_total",
            "Accepted counters that too few Redis replicas had in time."
        ),
        (
            .newUserKeys, "sallyport_user_keys_new_total",
            "Keys that a user used for the first time after having used others."
        ),
        (
            .identitiesSigned, "sallyport_identity_tokens_signed_total",
            "Identity tokens signed."
        ),
        (
            .identitiesReused, "sallyport_identity_tokens_reused_total",
            "Identity tokens that were signed for an earlier request and sent again."
        ),
        (
            .firstAssertions, "sallyport_first_assertions_total",
            "Accepted assertions that were the first of their key."
        ),
    ]
}

extension SuccessionOutcome {
    static let counted = CountedDetail(
        name: detailName, metric: "sallyport_successions_total", label: "outcome",
        help: "Enrolments with a ticket of an earlier one, by its outcome.")
}
