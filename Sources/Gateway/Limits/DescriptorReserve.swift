/// Descriptors that are held back, so that a crowd of clients leaves some to the requests of those
/// who are in, and both leave some to the admin listener, the stores and the logs.
///
/// The system gives the lowest free number, so the number of a new descriptor says how many are in
/// use at least: nothing has to be counted.
struct DescriptorReserve: Sendable {
    /// How many descriptors the process may have open.
    let limit: Int
    /// A connection of a client with this number or a higher one is the last for now.
    let clientMax: Int32
    /// Connections to upstreams and bodies in files stay below this number.
    let requestMax: Int32

    /// Nothing is held back where the limit is not known.
    init(limit: Int) {
        self.limit = limit
        guard limit > 0 else {
            (clientMax, requestMax) = (.max, .max)
            return
        }
        let reserve = min(Self.countMax, limit / 4)
        clientMax = Int32(clamping: limit - reserve)
        requestMax = Int32(clamping: limit - reserve / 2)
    }

    /// Far more than the gateway's own files and the connections of an operator.
    static let countMax = 256
}
