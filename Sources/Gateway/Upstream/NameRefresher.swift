import EventLoop
import Settings

/// Resolves the names of upstream servers again and again, on a thread of its own: a name server
/// that does not answer holds nobody.
final class NameRefresher {
    /// Not waited for: it may be inside the system's resolver for long.
    private let thread: Thread
    private let commands: Mailbox<Command>

    private enum Command { case stop }

    /// `changed` is called on the thread, after the hub has the new addresses.
    init(hub: Hub, changed: @escaping @Sendable () -> Void) throws {
        let commands = try Mailbox<Command>(countMax: 1)
        self.commands = commands
        thread = try Thread.spawn(name: "resolver") {
            guard let loop = try? EventLoop() else { return }
            let receiver = commands.attach(to: loop) { _ in loop.stop() }
            defer { receiver.close() }
            var due: [String: MonotonicInstant] = [:]
            let timer = Timer(loop: loop) {
                var isChanged = false
                for group in hub.currentGroups where NameRefresher.isNeeded(by: group.settings) {
                    let settings = group.settings
                    let now = MonotonicInstant.now()
                    guard let instant = due[settings.name] else {
                        // Resolved a moment ago, when the configuration was loaded.
                        due[settings.name] = now + settings.resolveInterval
                        continue
                    }
                    guard now >= instant else { continue }
                    if hub.refresh(settings) {
                        isChanged = true
                        let servers = hub.servers(of: settings).servers.map(\.text)
                        hub.logs.event(
                            level: "info", "servers_changed",
                            "\(settings.name): \(servers.joined(separator: ", "))")
                    }
                    due[settings.name] = MonotonicInstant.now() + settings.resolveInterval
                }
                if isChanged { changed() }
            }
            timer.scheduleRepeating(every: NameRefresher.tick)
            loop.run()
        }
    }

    /// Its thread ends with what it is at.
    func stop() { _ = commands.post(.stop) }

    /// Whether a name of the upstream may come to stand for other addresses.
    static func isNeeded(by settings: UpstreamSettings) -> Bool {
        settings.resolveInterval != .zero && settings.servers.contains { $0.endpoint.isName }
    }

    /// The shortest interval that can be set.
    static let tick = Duration.seconds(1)
}
