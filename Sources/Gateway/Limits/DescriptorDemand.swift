public import Settings

/// The number of descriptors that a configuration may have open at once.
public struct DescriptorDemand: Sendable {
    public let count: Int

    public init(of settings: Settings) {
        let upstreams = settings.upstreams.reduce(0) { $0 + $1.connectionCountMax }
        let (product, isTooMuch) = settings.workerCount.multipliedReportingOverflow(
            by: settings.limits.connectionCountMax + upstreams)
        count = isTooMuch ? .max : product + DescriptorReserve.countMax
    }

    /// The part of the demand that a process may not open under `limit`, in words. Nil if it may
    /// open all of it, or if the limit is not known (0).
    public func shortage(under limit: Int) -> String? {
        guard limit > 0, count > limit else { return nil }
        return "limits.connections and upstreams.*.connections_max allow \(count) open files, but "
            + "the system only \(limit): raise LimitNOFILE (ulimit -n), or allow fewer"
    }
}
