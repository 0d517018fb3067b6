import EventLoop
import Settings

/// Resolves the names of upstream servers on a thread of their own, at the start too.
extension Gateway {
    /// The time that a start, or a reload, waits for names. Servers without an address are down
    /// until they have one.
    static let namePatience = Duration.seconds(5)

    /// Resolves names from now on, if `settings` have any.
    func startNameRefresher(for settings: Settings) throws {
        guard nameRefresher == nil,
            settings.upstreams.contains(where: { $0.servers.contains(where: \.endpoint.isName) })
        else { return }
        nameRefresher = try NameRefresher(hub: hub) { [mailboxes] in
            for mailbox in mailboxes { _ = mailbox.post(.serversChanged) }
        } begun: { [reports] in
            _ = reports.post(.namesAsked)
        }
    }

    /// Waits until every name was asked for, before the first client is served, but not for long:
    /// the servers whose names are known go on.
    func awaitNames(on loop: EventLoop) {
        guard nameRefresher != nil else { return }
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: Self.namePatience)
        whenNamesAreAsked = { loop.stop() }
        loop.run()
        timer.cancel()
        whenNamesAreAsked = nil
    }

    func namesWereAsked() { whenNamesAreAsked?() }
}
