import EventLoop
import Settings

/// Resolves the names of upstream servers again and again. It has a thread of its own, so that a
/// name server that does not answer delays nothing else.
final class NameRefresher {
    /// The thread that resolves. It is not waited for, because it may be inside the system's
    /// resolver for long.
    private let thread: Thread
    private let commands: Mailbox<Command>

    private enum Command { case stop }

    /// `changed` is called on the thread after the hub has new addresses, `begun` when every name
    /// was asked for that had no address at the start.
    init(
        hub: Hub, changed: @escaping @Sendable () -> Void, begun: @escaping @Sendable () -> Void
    ) throws {
        let commands = try Mailbox<Command>(countMax: 1)
        self.commands = commands
        thread = try Thread.spawn(name: "resolver") {
            guard let loop = try? EventLoop() else { return }
            let receiver = commands.attach(to: loop) { _ in loop.stop() }
            defer { receiver.close() }
            var asked: [String: MonotonicInstant] = [:]
            for group in hub.currentGroups where group.unresolved.isEmpty {
                // It was resolved a moment ago.
                asked[group.settings.name] = MonotonicInstant.now()
            }
            func refresh() {
                if Self.refresh(hub, &asked) { changed() }
            }
            refresh()
            begun()
            let timer = Timer(loop: loop, handler: refresh)
            timer.scheduleRepeating(every: Self.tick)
            loop.run()
        }
    }

    /// Resolves the names that are due. True if that changed an address.
    private static func refresh(_ hub: Hub, _ asked: inout [String: MonotonicInstant]) -> Bool {
        var isChanged = false
        for group in hub.currentGroups {
            guard let interval = interval(of: group) else { continue }
            let settings = group.settings
            if let last = asked[settings.name], MonotonicInstant.now() < last + interval {
                continue
            }
            if hub.refresh(settings) {
                isChanged = true
                let servers = hub.servers(of: settings).servers.map(\.text)
                hub.logs.event(
                    level: "info", "servers_changed",
                    "\(settings.name): \(servers.joined(separator: ", "))")
            }
            asked[settings.name] = MonotonicInstant.now()
        }
        return isChanged
    }

    /// The interval at which the names of an upstream are resolved; nil if its addresses do not
    /// change.
    private static func interval(of group: ServerGroup) -> Duration? {
        let configured = group.settings.resolveInterval
        if !group.unresolved.isEmpty {
            return configured == .zero ? retryDelay : min(configured, retryDelay)
        }
        return isNeeded(by: group.settings) ? configured : nil
    }

    /// Ends the thread once it has finished its present work.
    func stop() { _ = commands.post(.stop) }

    /// True if a name of the upstream may come to stand for other addresses.
    private static func isNeeded(by settings: UpstreamSettings) -> Bool {
        settings.resolveInterval != .zero && settings.servers.contains { $0.endpoint.isName }
    }

    /// The time after which a name without an address is asked for again. Its server is down
    /// meanwhile.
    private static let retryDelay = Duration.seconds(5)

    /// The shortest interval that can be set.
    static let tick = Duration.seconds(1)
}
