/// The times at which the servers of upstreams were last asked, as far as reading their counts now
/// and then shows. Requests do no work for it.
struct ServerTimes: Sendable {
    private struct Look {
        let count: UInt64
        /// The time in seconds since 1970; nil if the server was not asked since the start.
        let askedAt: Int64?
    }

    private var looks: [StatusHistory.Server: Look] = [:]

    /// Takes the request counts of all servers at `now`, in seconds since 1970.
    mutating func take(
        _ counts: [(server: StatusHistory.Server, count: UInt64)], at now: Int64
    ) {
        var next: [StatusHistory.Server: Look] = [:]
        for (server, count) in counts {
            let old = looks[server]
            let isAsked = count > old?.count ?? 0
            next[server] = Look(count: count, askedAt: isAsked ? now : old?.askedAt)
        }
        looks = next
    }

    func askedAt(_ server: StatusHistory.Server) -> Int64? { looks[server]?.askedAt }
}
