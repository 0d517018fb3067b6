/// The causes that lie in stores, bounds and upstreams.
enum StoreCauses {
    private typealias Row = CauseExplanation

    static let stores: [CauseExplanation] = [
        Row(
            [.storeUnavailable], ["registry"], .store, "The registry failed.",
            "See the event registry_failed, and sallyport doctor."),
        Row(
            [.storeUnavailable], ["registry_timeout"], .store,
            "The registry did not answer a look-up within timeouts.registry.",
            "See its disk, connection and load, and sallyport doctor."),
        Row(
            [.storeUnavailable], ["registry_unknown"], .store,
            "The registry did not answer a write within timeouts.registry: it may yet be done.",
            "Nothing for the key: the app tries again. See the registry's disk and load."),
        Row(
            [.storeUnavailable], ["registry_log"], .store,
            "The registry's log (-wal) has reached limits.registry_log, because a process reads "
                + "the registry in a long transaction.",
            "End the process that the event registry_log_full names."),
        Row(
            [.storeUnavailable], ["counters"], .store,
            "The counter store is away, or refuses.",
            "See the events store_down and counters_failed, and sallyport doctor."),
        Row(
            [.storeUnavailable], ["counters_unknown"], .store,
            "The counter store did not answer, or failed: the assertion may have been used.",
            "Nothing for the key: the app signs again. See the event counters_failed, the store's "
                + "load and the network."),
        Row(
            [.storeUnavailable], ["floors_unkept"], .store,
            "Accepted counters have not been written to the registry's disk for 2 s "
                + "(counters.on_floors_unkept).",
            "See the event floors_unkept, and the disk."),
        Row(
            [.gatewayBusy], ["backlog"], .operator,
            "The request had waited for longer than timeouts.backlog: more comes than the gateway "
                + "can serve.",
            "Add processors or gateways; limit strangers by address."),
        Row(
            [.gatewayBusy], ["registry_queue"], .operator,
            "limits.registry_queue is reached.",
            "Limit strangers by address; else the registry is too slow."),
        Row(
            [.gatewayBusy], ["registry_timeout"], .operator,
            "A look-up waited for timeouts.registry while others were answered.",
            "Limit strangers by address: unknown keys cost a look-up each."),
        Row(
            [.gatewayBusy], ["counters_full"], .operator,
            "counters.in_flight_max is reached, or the embedded counters' memory is full.",
            "Raise the bound, or use Redis."),
        Row(
            [.gatewayBusy], ["body_file"], .operator,
            "The body could not be written to limits.temporary_directory.",
            "See the event body_file_failed: make room, or raise limits.body_memory."),
    ]

    private static let asksUpstream =
        "See the upstream's log; it may have processed the request."

    static let upstreams: [CauseExplanation] = [
        Row(
            [.upstreamFailed], ["connect: <why>"], .upstream,
            "No connection to the upstream could be made, so nothing was sent.",
            "Start the upstream, or correct upstreams."),
        Row(
            [.upstreamFailed], ["broken: <why>"], .upstream,
            "The upstream broke the connection before it had answered.",
            asksUpstream),
        Row(
            [.upstreamFailed], ["refused: <why>"], .upstream,
            "The upstream said that it did not act on the request.",
            "It is stopping, or has too many streams."),
        Row(
            [.upstreamFailed], ["malformed: <code>"], .upstream,
            "The upstream's answer is not HTTP.",
            "Correct the upstream: the code says how. A port that speaks another protocol ends "
                + "here, too."),
        Row(
            [.upstreamFailed], ["head_too_large_for_client"], .upstream,
            "The answer's head is more than the HTTP/2 client takes.",
            "Send fewer or shorter headers."),
        Row(
            [.upstreamTimeout], ["connect_timeout"], .upstream,
            "The upstream took no connection within connect_timeout.",
            "See whether it runs, and whether a firewall drops packets."),
        Row(
            [.upstreamTimeout],
            [
                "send_timeout", "response_timeout", "read_timeout", "request_timeout",
            ], .upstream,
            "The upstream was late: the timeout of this name was over.",
            asksUpstream),
        Row(
            [.upstreamBusy], ["connections_max"], .upstream,
            "All connections to the upstream are in use, and it has no queue.",
            "Raise connections_max, or give it a queue; else it is too slow."),
        Row(
            [.upstreamBusy], ["queue_full", "queue_timeout"], .upstream,
            "The upstream's queue is full, or its timeout was over.",
            "Give the upstream more servers or connections."),
        Row(
            [.upstreamBusy], ["unresolved"], .operator,
            "No name of the upstream's servers has an address.",
            "Correct the names in upstreams, or see the resolver."),
        Row(
            [.upstreamBusy], ["out_of_descriptors"], .operator,
            "The gateway has no file descriptor left.",
            "Raise the limit of open files (LimitNOFILE)."),
    ]
}
