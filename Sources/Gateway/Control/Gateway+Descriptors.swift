extension Gateway {
    /// Tells where limits and configuration disagree: connections wait then that the settings would
    /// let in.
    func examineDescriptors() {
        let demand = DescriptorDemand(of: currentSite.settings)
        if let shortage = demand.shortage(under: hub.descriptors.limit) {
            control?.log.event("descriptor_limit", shortage)
        }
    }
}
