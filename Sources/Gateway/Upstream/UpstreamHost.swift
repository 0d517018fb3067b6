import Bytes
import EventLoop
import Settings

/// What pools, connections and health checks need of the thread that they live on.
protocol UpstreamHost: AnyObject {
    var loop: EventLoop { get }
    var deadlines: DeadlineWheel { get }
    /// The storage that connections read into and write from while they work.
    var storage: StoragePool { get }
    var outbox: Outbox { get }
    var log: WorkerLog { get }
    var meter: WorkerMeter { get }
    /// The configuration in force.
    var site: Site { get }
    /// Whether no new requests come: no connection is kept.
    var isDraining: Bool { get }
    /// The number that descriptors of requests stay below: the rest is held back.
    var upstreamDescriptorMax: Int32 { get }
    /// The groups of servers of all upstreams, for health checks.
    var serverGroups: [ServerGroup] { get }

    func servers(of settings: UpstreamSettings) -> ServerGroup
    func pool(for site: Site, upstream index: Int) -> UpstreamPool
}
