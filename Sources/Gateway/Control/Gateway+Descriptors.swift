extension Gateway {
    /// Has the event log say if the limit of open files is too low for the configuration:
    /// connections that the settings would let in have to wait then.
    func examineDescriptors() {
        let demand = DescriptorDemand(of: currentSite.settings)
        if let shortage = demand.shortage(under: hub.descriptors.limit) {
            control?.log.event("descriptor_limit", shortage)
        }
    }
}
