import Settings

extension Gateway {
    /// Tells where limits and configuration disagree: connections wait then that the settings would
    /// let in.
    func examineDescriptors() {
        let (settings, limit) = (currentSite.settings, hub.descriptors.limit)
        let demand = DescriptorReserve.demand(of: settings)
        guard limit > 0, demand > limit else { return }
        control?.log.event(
            "descriptor_limit",
            "limits.connections and upstreams.*.connections_max allow \(demand) open files, but "
                + "the system only \(limit): raise LimitNOFILE (ulimit -n), or allow fewer")
    }
}
