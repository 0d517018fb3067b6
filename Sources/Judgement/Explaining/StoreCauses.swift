/// What stores, bounds and upstreams did.
enum StoreCauses {
    private typealias Row = CauseExplanation

    static let stores: [CauseExplanation] = [
        Row(
            [.storeUnavailable], ["registry"], .store, "The registry failed.",
            "See the event registry_failed, and sallyport doctor."),
        Row(
            [.storeUnavailable], ["registry_timeout"], .store,
            "The registry did not answer a look-up within timeouts.registry.",
            "See the registry's disk, connection and load, and sallyport doctor."),
        Row(
            [.storeUnavailable], ["registry_unknown"], .store,
            "The registry did not answer a write within timeouts.registry: it may yet be done.",
            "Nothing for the key: the app tries again. See the registry's disk and load."),
        Row(
            [.storeUnavailable], ["registry_log"], .store,
            "The log of the registry (-wal) is as long as limits.registry_log allows: "
                + "somebody reads the registry in a transaction that does not end.",
            "End the process that the event registry_log_full names, or its transaction."),
        Row(
            [.storeUnavailable], ["counters"], .store,
            "The counter store is not there, refuses, or the gateway cannot reach it.",
            "See the events store_down and counters_failed; sallyport doctor asks the store."),
        Row(
            [.storeUnavailable], ["counters_unknown"], .store,
            "The counter store did not answer, or failed: the assertion may have been used.",
            "Nothing for the key: the app signs again. See the event counters_failed, the counter "
                + "store's load and the network; counters.redis.command_timeout says how long the "
                + "gateway waits."),
        Row(
            [.storeUnavailable], ["floors_unkept"], .store,
            "The registry's disk has not taken accepted counters for 2 s, and "
                + "counters.on_floors_unkept is refuse.",
            "See the event floors_unkept, and the disk."),
        Row(
            [.gatewayBusy], ["backlog"], .operator,
            "The request had waited for longer than timeouts.backlog, as all others did: more "
                + "comes than the gateway can serve.",
            "Give the gateway more processor time, or run another one; limit by address what "
                + "strangers send."),
        Row(
            [.gatewayBusy], ["registry_queue"], .operator, "limits.registry_queue is reached.",
            "Limit by address what strangers send; else the registry is too slow for the load."),
        Row(
            [.gatewayBusy], ["registry_timeout"], .operator,
            "A look-up waited for timeouts.registry while others were answered.",
            "Limit by address what strangers send: keys that nobody knows cost a look-up each."),
        Row(
            [.gatewayBusy], ["counters_full"], .operator,
            "counters.in_flight_max is reached, or the embedded counters' memory is full.",
            "Raise the bound, or use Redis for the counters."),
        Row(
            [.gatewayBusy], ["body_file"], .operator,
            "The body could not be written to limits.temporary_directory.",
            "See the event body_file_failed: make room on the disk, or raise limits.body_memory."),
    ]

    private static let asksUpstream =
        "See the upstream's own log at this moment. It may have processed the request."

    static let upstreams: [CauseExplanation] = [
        Row(
            [.upstreamFailed], ["connect: <why>"], .upstream,
            "No connection to the upstream could be made, so nothing was sent.",
            "Start the upstream, or correct its address, port or TLS in upstreams."),
        Row(
            [.upstreamFailed], ["broken: <why>"], .upstream,
            "The upstream ended or broke the connection before it had answered.", asksUpstream),
        Row(
            [.upstreamFailed], ["refused: <why>"], .upstream,
            "The upstream said that it did not act on the request.",
            "See the upstream's log: it is stopping, or has too many streams."),
        Row(
            [.upstreamFailed], ["malformed: <code>"], .upstream,
            "The upstream's answer is not HTTP as RFC 9112 or 9113 has it.",
            "Correct the upstream: the code says what is wrong with its answer. A port that speaks "
                + "TLS or another protocol ends here, too."),
        Row(
            [.upstreamFailed], ["head_too_large_for_client"], .upstream,
            "The answer's head is more than the HTTP/2 client takes.",
            "Let the upstream send fewer or shorter headers."),
        Row(
            [.upstreamTimeout], ["connect_timeout"], .upstream,
            "The upstream took no connection within connect_timeout.",
            "See whether the upstream runs, and whether a firewall drops packets."),
        Row(
            [.upstreamTimeout], ["send_timeout"], .upstream,
            "The upstream did not take more of the request within send_timeout.", asksUpstream),
        Row(
            [.upstreamTimeout], ["response_timeout"], .upstream,
            "The upstream did not begin its answer within response_timeout.", asksUpstream),
        Row(
            [.upstreamTimeout], ["read_timeout"], .upstream,
            "The upstream stopped in the middle of its answer for read_timeout.", asksUpstream),
        Row(
            [.upstreamTimeout], ["request_timeout"], .upstream,
            "timeouts.request was over while the upstream was late.", asksUpstream),
        Row(
            [.upstreamBusy], ["connections_max"], .upstream,
            "All connections to the upstream are in use, and it has no queue.",
            "Raise connections_max of the upstream, or give it a queue; else it is too slow."),
        Row(
            [.upstreamBusy], ["queue_full"], .upstream, "The upstream's queue is full.",
            "The upstream is too slow for the load: give it more servers or connections."),
        Row(
            [.upstreamBusy], ["queue_timeout"], .upstream,
            "No connection to the upstream came free in the queue's time.",
            "The upstream is too slow for the load: give it more servers or connections."),
        Row(
            [.upstreamBusy], ["unresolved"], .operator,
            "No name of the upstream's servers has an address.",
            "Correct the names in upstreams, or see what the resolver says."),
        Row(
            [.upstreamBusy], ["out_of_descriptors"], .operator,
            "The gateway has no file descriptor left for a connection.",
            "Raise the limit of open files (LimitNOFILE)."),
    ]
}
