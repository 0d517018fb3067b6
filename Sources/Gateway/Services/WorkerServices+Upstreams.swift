import Settings

extension WorkerServices: UpstreamHost {
    /// The control thread's connections are health checks, for which no descriptor is held back.
    var upstreamDescriptorMax: Int32 {
        hub.isControl(index) ? .max : hub.descriptors.requestMax
    }

    var serverGroups: [ServerGroup] { hub.currentGroups }

    func servers(of settings: UpstreamSettings) -> ServerGroup { hub.servers(of: settings) }
}
