/// Counts a request against the rate limits of its listener, route and key. It keeps no state of
/// its own: the buckets are the process's.
struct RequestLimiter: ExchangePart {
    let exchange: Exchange
}
