import Background
import EventLoop
import Settings

/// The progress of a gateway's replacement by another program.
struct Upgrade {
    enum Step {
        case none
        /// The next program is asked if it accepts the configuration.
        case checking
        /// All clients are served; each connection ends with its next answer.
        case retiring
        /// No connection is accepted any more; requests in flight end.
        case handingOver
    }

    var step = Step.none
    var check: Thread?
    var timer: Timer?
}

/// Hands over at SIGUSR2: another program takes the place of this one, in the same process and with
/// the same listening sockets. Connections that come in between wait in the kernel, so none is
/// refused, and the stores have one owner at a time.
extension Gateway {
    func beginUpgrade() {
        guard let control else { return }
        guard upgrade.step == .none, !isDraining else {
            return refuseUpgrade("the gateway is stopping or being upgraded already")
        }
        guard let checkUpgrade else { return refuseUpgrade("there is no program to become") }
        upgrade.step = .checking
        let reports = reports
        do {
            upgrade.check = try Thread.spawn(name: "upgrade") {
                _ = reports.post(.upgradeChecked(problem: checkUpgrade()))
            }
        } catch {
            upgrade.step = .none
            return refuseUpgrade("\(error)")
        }
        control.log.event(level: "info", "upgrading", "asking the next program to check")
    }

    private func refuseUpgrade(_ reason: String) {
        control?.log.event(
            level: "error", "upgrade_failed",
            "the gateway keeps serving: \(reason)")
    }

    func upgradeChecked(problem: String?) {
        upgrade.check?.join()
        upgrade.check = nil
        // A stop may have begun meanwhile.
        guard upgrade.step == .checking, let control else { return }
        // A program takes over once every thread of this one has ended, and one that waits for a
        // file system cannot.
        let problem =
            problem
            ?? hub.logs.awaitAnswers().map { "\($0): its file does not answer for 2 s" }
        if let problem {
            upgrade.step = .none
            return refuseUpgrade(problem)
        }
        upgrade.step = .retiring
        control.log.event(level: "info", "upgrading", "connections end with their next response")
        supervision?.changeBegins("upgrading")
        for mailbox in workerMailboxes { _ = mailbox.post(.retire) }
        let timer = Timer(loop: control.loop) { [unowned self] in handOver() }
        let timeouts = currentSite.settings.timeouts
        let farewell = min(Self.farewell, timeouts.upgrade)
        // All clients are served meanwhile: later new connections would wait for them.
        timer.schedule(after: hub.hasTunnels ? max(farewell, timeouts.tunnelDrain) : farewell)
        upgrade.timer = timer
    }

    private func handOver() {
        guard upgrade.step == .retiring else { return }
        upgrade.step = .handingOver
        control?.log.event(level: "info", "upgrading", "new connections wait")
        stopRenewing()
        observation.exporter?.flush()
        for mailbox in workerMailboxes { _ = mailbox.post(.handOver(kept)) }
    }

    /// Hands over the admin listeners, which go last. When the admin thread has ended, the control
    /// thread does.
    func handOverControl() {
        // From here on no code here listens to signals: they wait for the next program.
        SignalWatch.hold()
        supervision?.lastBeat()
        control?.log.event(level: "info", "upgrading", "every worker has drained")
        _ = adminMailbox.post(.handOver(kept))
    }

    /// The time in which busy clients are told to close. They keep their connection for longer than
    /// they pause, so an answer tells them that it ends, and few find it closed under a request.
    static let farewell = Duration.seconds(1)
}
