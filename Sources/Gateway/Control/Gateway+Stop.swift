import EventLoop
import Settings

/// Stops at SIGTERM and SIGINT: the gateway is not ready any more, and then drains.
extension Gateway {
    func stop() {
        guard !hub.health.isDraining else { return hurry() }
        let timeouts = currentSite.settings.timeouts
        hub.health.drain()
        upgrade.step = .none
        supervision?.stopping()
        stopRenewing()
        guard let control, timeouts.drainDelay != .zero else { return drain() }
        control.log.event(
            level: "info", "stopping",
            "/readyz answers 503; everything is served until timeouts.drain_delay is over")
        let timer = Timer(loop: control.loop) { [unowned self] in drain() }
        timer.schedule(after: timeouts.drainDelay)
        timers.drainDelay = timer
    }

    /// The second signal means that the operator does not want to wait.
    private func hurry() {
        if timers.drainDelay != nil { drain() }
    }

    private func drain() {
        timers.drainDelay?.cancel()
        timers.drainDelay = nil
        control?.log.event(level: "info", "draining", "no new connections are accepted")
        for mailbox in workerMailboxes { _ = mailbox.post(.drain) }
    }
}
