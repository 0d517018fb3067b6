import Policy

/// Checks conditions between quotas and other parts of the configuration.
struct QuotaChecks {
    let settings: Settings
    let context: ReadingContext

    func run() {
        for quota in settings.quotas where !context.isFaulty("quotas.\(quota.name).by") {
            checkUser(of: quota)
        }
        let used = Set(settings.routes.flatMap(\.quotas))
        for quota in settings.quotas where !used.contains(quota.name) {
            context.warning("no route uses it", at: "quotas.\(quota.name)")
        }
        for (index, route) in settings.routes.enumerated() {
            for name in route.quotas {
                guard let quota = settings.quotas.first(where: { $0.name == name }) else {
                    continue
                }
                check(quota, of: route, "routes[\(index)].quota")
            }
        }
    }

    /// Reports a quota by user if the user is unknown, or the client's own choice.
    private func checkUser(of quota: Quota) {
        guard quota.subject == .user else { return }
        let path = "quotas.\(quota.name).by"
        guard let user = settings.signals.user else {
            // A section that is faulty has been reported.
            guard !context.has("signals.user") else { return }
            return context.error(
                "user needs signals.user: without it the user of a request is unknown", at: path)
        }
        if user.source == .client {
            context.error(
                "user needs signals.user: { from: response } or { from: proxy }: with from: "
                    + "client, a client could use up the quota of another user", at: path)
        }
    }

    private func check(_ quota: Quota, of route: Route, _ path: String) {
        if route.mayLackSubject(of: quota.subject, users: settings.signals.user?.source) {
            context.warning(
                "requests that prove no \(quota.subject.rawValue) share one count of "
                    + "\(quoted(quota.name))", at: path)
        }
        guard quota.measure != .requests,
            let listener = settings.listeners.first(where: { $0.check != nil })
        else { return }
        context.warning(
            "\(quoted(quota.name)) counts nothing at \(listener.bind): answers to requests that a "
                + "proxy asks about do not come here", at: path)
    }
}

extension Route {
    /// True if requests may pass without a sender that a quota can count.
    fileprivate func mayLackSubject(
        of subject: Quota.Subject, users: SignalSettings.UserSource?
    ) -> Bool {
        switch subject {
        // All clients have an address, except those of unix sockets, which are proxies.
        case .address: return false
        case .user where users == .proxy: return true
        case .key, .installation, .app, .user: break
        }
        let isOpen =
            attest.mode != .enforce || attest.onMissing != .deny || attest.onInvalid != .deny
            || attest.onStoreFailure.action != .deny || attest.rolloutPercent < 100
            || rollout != nil
        let keyed: AcceptedProofs = [.assertion, .token]
        return isOpen || !attest.accept.isSubset(of: keyed)
    }
}
