/// Descriptors that are held back: a crowd of clients leaves some to the requests of connected
/// clients, and both leave some to the admin listener, the stores and the logs.
///
/// The system gives out the lowest free number, so the number of a new descriptor says how many are
/// in use at least, and nothing has to be counted.
struct DescriptorReserve: Sendable {
    /// The number of descriptors that the process may have open.
    let limit: Int
    /// A client's connection with this number or a higher one is the last that is accepted for now.
    let clientMax: Int32
    /// Connections to upstreams and files of bodies must have lower numbers.
    let requestMax: Int32

    /// Makes the reserve. Nothing is held back if the limit is not known.
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

    /// The most descriptors held back: far more than the gateway's own files and an operator's
    /// connections.
    static let countMax = 256
}
