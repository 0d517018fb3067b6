import Background
import EventLoop
import Policy
import Settings

extension Gateway {
    /// The time that a start waits for the shares of its rollouts. Without them a client without a
    /// proof is told to come again.
    private static let patience = Duration.seconds(1)

    /// Learns how far the rollouts have come, before the first client is served.
    func startRollouts(on loop: EventLoop) {
        let controller = RolloutController(
            registry: hub.registry, log: hub.logs, register: rolloutRegister,
            counts: { [hub] in hub.counts(of: $0) },
            answer: { [reports] in _ = reports.post(.rollout($0)) })
        controller.follow(currentSite.settings.plannedRollouts)
        controller.start(on: loop)
        self.controller = controller
        guard controller.isUnsettled else { return }
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: Self.patience)
        controller.whenSettled { loop.stop() }
        loop.run()
        timer.cancel()
        controller.whenSettled {}
    }

    /// Keeps the shares over a reload. Until the registry is read, a reload does not change the
    /// share of a route.
    func keepShares(of old: Site, in next: Site) {
        for (route, share) in zip(next.settings.routes, next.rollouts) {
            guard let share, share.percent == nil,
                let index = old.settings.routes.firstIndex(where: { $0.name == route.name })
            else { continue }
            let policy = old.settings.routes[index].attest
            let known = old.rollouts[index].map(\.percent) ?? policy.rolloutPercent
            if policy.mode != .enforce {
                share.presume(0)
            } else if let known {
                share.presume(known)
            }
        }
        guard let share = next.attestRollout, share.percent == nil else { return }
        let known =
            old.attestRollout.map(\.percent) ?? old.settings.endpoints.attestRollout.percent
        if let known { share.presume(known) }
    }
}

extension Site {
    /// True if a route that must not be open meanwhile has a rollout whose share is not known.
    var lacksRollout: Bool {
        zip(settings.routes, rollouts).contains { route, share in
            route.attest.onStoreFailure == .deny && share.map { $0.percent == nil } ?? false
        }
    }
}
