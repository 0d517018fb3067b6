/// Counts a request against the rate limits of its listener, route and key.
///
/// It has no state in the exchange, and may change only what the process counts.
struct RequestLimiter: ExchangePart {
    let exchange: Exchange
}
