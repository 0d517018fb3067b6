extension MetricsPage {
    /// What each worker counts that is not about a route: the count, its family and what it means.
    static let workerCounters: [(WorkerMeter.Count, String, String)] = [
        (.requests, "sallyport_requests_started_total", "Requests whose head was read."),
        (.challenges, "sallyport_challenges_issued_total", "Challenges sealed."),
        (.tokens, "sallyport_session_tokens_issued_total", "Session tokens issued."),
        (
            .developerTokens, "sallyport_developer_token_requests_total",
            "Requests that a developer token was accepted for."
        ),
        (
            .retries, "sallyport_upstream_retries_total",
            "Requests sent again: a reused connection had died, or none could be made."
        ),
        (
            .connectionsRefused, "sallyport_connections_refused_total",
            "Connections closed at once: their address had limits.connections_per_address."
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
            .counterConflicts, "sallyport_counter_conflicts_total",
            "Counters that had been used with another challenge: a key on two devices."
        ),
        (
            .unconfirmed, "sallyport_redis_unconfirmed_total",
            "Accepted counters that too few replicas of Redis had in time."
        ),
        (
            .newUserKeys, "sallyport_user_keys_new_total",
            "Keys used for a user for the first time, who had used others before."
        ),
        (
            .identitiesSigned, "sallyport_identity_tokens_signed_total",
            "Identity tokens signed."
        ),
        (
            .identitiesReused, "sallyport_identity_tokens_reused_total",
            "Identity tokens sent again as they were signed for an earlier request."
        ),
    ]
}
