import EventLoop
import TLS
import Telemetry

extension MetricsPage {
    /// Writes the program, its configuration, and its use of the system, the latter by the names of
    /// Prometheus' own client libraries.
    static func writeProcess(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_build_info", .gauge, help: "1, with the version of this program as a label.")
        page.sample([("version", hub.version), ("openssl", TLSLibrary.version)], UInt64(1))
        writeReloads(hub, site, &page)
        page.family(
            "sallyport_events_total", .counter,
            help: "Events of the gateway, also those that the event log leaves out.")
        for (name, count) in hub.logs.eventCounts.sorted(by: { $0.key < $1.key }) {
            page.sample([("event", name)], count)
        }
        writeCaptures(hub, &page)
        if let usage = ProcessUsage.read() { write(usage, &page) }
        if let count = ProcessUsage.descriptorCount {
            page.family("process_open_fds", .gauge, help: "Number of open file descriptors.")
            page.sample([], UInt64(max(0, count)))
        }
        page.family("process_max_fds", .gauge, help: "Maximum number of open file descriptors.")
        page.sample([], UInt64(max(0, HostSystem.descriptorLimit)))
    }

    /// Writes nothing if `capture` was never set.
    private static func writeCaptures(_ hub: Hub, _ page: inout MetricFamilies) {
        guard let counts = hub.captureWriter.withLock({ $0 })?.counts else { return }
        page.family(
            "sallyport_captures_total", .counter,
            help: "Refused requests that capture kept, skipped, or failed to keep.")
        for outcome in CaptureCounts.Outcome.allCases {
            page.sample([("outcome", outcome.rawValue)], counts.count(outcome))
        }
    }

    private static func writeReloads(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_config_generation", .gauge, help: "Successful reloads since the start.")
        page.sample([], UInt64(site.generation))
        page.family(
            "sallyport_config_last_reload_successful", .gauge,
            help: "0 if the last reload was refused and the configuration before it is in force.")
        page.sample([], UInt64(hub.reloads.failure == nil ? 1 : 0))
        page.family(
            "sallyport_config_last_reload_success_timestamp_seconds", .gauge,
            help: "The time of the start or reload that loaded the configuration in force.")
        page.sample([], UInt64(max(0, hub.reloads.takenAt)))
    }

    private static func write(_ usage: ProcessUsage, _ page: inout MetricFamilies) {
        page.family(
            "process_cpu_seconds_total", .counter,
            help: "Total user and system CPU time spent in seconds.")
        page.sample([], nanoseconds: usage.processorNanoseconds)
        page.family(
            "process_resident_memory_bytes", .gauge, help: "Resident memory size in bytes.")
        page.sample([], usage.residentByteCount)
        page.family("process_virtual_memory_bytes", .gauge, help: "Virtual memory size in bytes.")
        page.sample([], usage.virtualByteCount)
        page.family(
            "process_start_time_seconds", .gauge,
            help: "Start time of the process since unix epoch in seconds.")
        page.sample([], nanoseconds: usage.startedAtNanoseconds)
    }
}
